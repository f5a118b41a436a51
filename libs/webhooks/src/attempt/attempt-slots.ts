import { setMaxListeners } from 'node:events';
import { pause } from '#platform';

/**
 * Limits how many delivery attempts one process makes at the same time. Each attempt occupies one slot. A webhook that
 * already has a slot gets further slots only if it then occupies no more slots than are free. Free slots therefore
 * remain for other webhooks when many receivers hang.
 */
export class AttemptSlots {
  private free: number;
  /** Number of taken slots of each webhook that has any. */
  private readonly taken = new Map<string, number>();
  /** Aborting this signal wakes all callers of {@link acquire} that wait for a free slot. */
  private slotReleased = newSignal();

  /** @param total number of slots */
  constructor(total: number) {
    this.free = total;
  }

  /**
   * Takes up to `max` free slots for a webhook and returns how many were taken. If no slot is free and the webhook has
   * none, waits up to `patienceMs` milliseconds for one.
   * @returns 0 if the webhook has its share of the slots, or if no slot became free
   */
  async acquire(webhook: string, max: number, patienceMs: number): Promise<number> {
    // A webhook that has a slot needs no wait: when its attempt ends, the caller asks again.
    if (this.free === 0 && !this.taken.has(webhook)) await pause(patienceMs, this.slotReleased.signal);
    const own = this.taken.get(webhook) ?? 0;
    const half = (this.free - own) / 2;
    const count = Math.min(max, Math.max(own === 0 ? Math.ceil(half) : Math.floor(half), 0));
    if (count === 0) return 0;
    this.free -= count;
    this.taken.set(webhook, own + count);
    return count;
  }

  /** True if a webhook has a slot. */
  isUsedBy(webhook: string): boolean {
    return this.taken.has(webhook);
  }

  /** True if no slot is free. */
  get isFull(): boolean {
    return this.free === 0;
  }

  /** Frees `count` taken slots of a webhook and wakes the waiting callers. */
  release(webhook: string, count: number): void {
    if (count === 0) return;
    const left = (this.taken.get(webhook) ?? 0) - count;
    if (left > 0) this.taken.set(webhook, left);
    else this.taken.delete(webhook);
    const allWereTaken = this.free === 0;
    this.free += count;
    if (!allWereTaken) return;
    this.slotReleased.abort();
    this.slotReleased = newSignal();
  }
}

/** Returns an abort controller without Node's limit on listeners, because many callers may wait for a slot. */
function newSignal(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
