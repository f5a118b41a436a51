import type { RelayJobs } from '../ports.js';

/**
 * Maximum number of lanes that wait for the next write of wake-up jobs. Further lanes get no wake-up job. A reconcile
 * task wakes them later.
 */
const MAX_WAITING = 10_000;

/**
 * Wakes lanes (recipients' queues of sends) in the background: the caller does not wait until the wake-up jobs are
 * written. If this process dies before the write, a reconcile task wakes the lanes, because their sends are already
 * stored. All lanes that are added while a write is in progress are written together in the next write, up to
 * {@link MAX_WAITING}. A wake-up with a delay is not batched: the caller waits until its job is written.
 */
export class BatchedRelayJobs implements RelayJobs {
  private readonly waiting = new Map<string, Set<string>>();
  private count = 0;
  private isWriting = false;

  /** @param jobs writes the wake-up jobs; logs its errors and never rejects */
  constructor(private readonly jobs: RelayJobs) {}

  async wake(account: string, lanes: readonly string[], delayMs = 0): Promise<void> {
    if (delayMs > 0) {
      await this.jobs.wake(account, lanes, delayMs);
      return;
    }
    for (const lane of lanes) this.add(account, lane);
    if (this.isWriting || this.count === 0) return;
    this.isWriting = true;
    void this.write();
  }

  private add(account: string, lane: string): void {
    if (this.count >= MAX_WAITING) return;
    const lanes = this.waiting.get(account) ?? new Set();
    this.waiting.set(account, lanes);
    if (lanes.has(lane)) return;
    lanes.add(lane);
    this.count += 1;
  }

  private async write(): Promise<void> {
    while (this.count > 0) {
      const waiting = [...this.waiting];
      this.waiting.clear();
      this.count = 0;
      await Promise.all(waiting.map(([account, lanes]) => this.jobs.wake(account, [...lanes])));
    }
    this.isWriting = false;
  }
}
