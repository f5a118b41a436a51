import { type ClaimedPoll, type ClaimedRead, POLL_LEASE_RENEWAL_INTERVAL_MS, type PollQueue } from '#feed';
import type { Logger } from '#platform';

/** One running read. */
export interface RunningRead {
  readonly claim: ClaimedPoll;
  readonly read: Pick<ClaimedRead, 'isLeaseRenewed'>;
  /** Aborts the read: it makes no further request. */
  readonly ending: AbortController;
}

/**
 * Counts the running reads of this process per account, limits their number, and renews their leases with one
 * call per account. A claim that is not answered yet takes the slot of the read that it may start.
 *
 * An account never has more running reads than there are free slots. Slots therefore remain for other
 * accounts when many upstreams hang.
 */
export class RunningReads {
  private readonly accounts = new Map<string, Set<RunningRead>>();
  private readonly tasks = new Set<Promise<unknown>>();
  private readonly renewing = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  /** Number of slots taken by claims that are not answered yet. */
  private claiming = 0;

  /** @param slots maximum number of reads over all accounts */
  constructor(
    private readonly slots: number,
    private readonly queue: Pick<PollQueue, 'renew'>,
    private readonly logger: Logger,
    private readonly renewalMs = POLL_LEASE_RENEWAL_INTERVAL_MS,
  ) {}

  /** Returns how many more reads the account may start now. */
  freeSlots(account: string): number {
    const ofAccount = this.accounts.get(account)?.size ?? 0;
    // Each further read takes a slot, and may not leave fewer free slots than the account then uses.
    return Math.ceil((this.slots - this.claiming - this.tasks.size - ofAccount) / 2);
  }

  /** Takes `count` slots while `claim` runs, which starts the reads that were claimed. */
  async whileClaiming<T>(count: number, claim: () => Promise<T>): Promise<T> {
    this.claiming += count;
    try {
      return await claim();
    } finally {
      this.claiming -= count;
    }
  }

  /** Returns true if the account has a running read. */
  has(account: string): boolean {
    return this.accounts.has(account);
  }

  /**
   * Starts a read. Resolves when the read has ended and its slot is free.
   * @param run must not reject
   */
  start<T>(account: string, running: RunningRead, run: () => Promise<T>): Promise<T> {
    const ofAccount = this.accounts.get(account) ?? new Set();
    this.accounts.set(account, ofAccount.add(running));
    this.timer ??= setInterval(() => {
      for (const id of this.accounts.keys()) void this.renew(id);
    }, this.renewalMs);
    const task = run().finally(() => {
      this.tasks.delete(task);
      ofAccount.delete(running);
      if (ofAccount.size === 0) this.accounts.delete(account);
      if (this.accounts.size === 0) {
        clearInterval(this.timer);
        this.timer = undefined;
      }
    });
    this.tasks.add(task);
    return task;
  }

  /** Aborts all reads. Each read ends after it has committed what it has read. */
  endAll(): void {
    for (const reads of this.accounts.values()) for (const { ending } of reads) ending.abort();
  }

  /** Resolves when no read is running. */
  async ended(): Promise<void> {
    while (this.tasks.size > 0) await Promise.all(this.tasks);
  }

  private async renew(account: string): Promise<void> {
    if (this.renewing.has(account)) return;
    this.renewing.add(account);
    try {
      const reads = [...(this.accounts.get(account) ?? [])].filter(({ read }) => read.isLeaseRenewed);
      const lost = new Set(
        await this.queue.renew(
          account,
          reads.map(({ claim }) => claim),
        ),
      );
      for (const { claim, ending } of reads) if (lost.has(claim)) ending.abort();
    } catch (error) {
      // If the lease expires, another worker may repeat the read. That is harmless: a commit is refused if the
      // contact's record has changed since the read began.
      this.logger.warn(
        { account, err: error },
        'could not renew the leases of running polls; other workers may start the same polls',
      );
    } finally {
      this.renewing.delete(account);
    }
  }
}
