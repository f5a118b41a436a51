import { type ClaimedPoll, type ClaimedRead, POLL_LEASE_RENEWAL_INTERVAL_MS, type PollQueue } from '#feed';
import type { Logger } from '#platform';

/** One running read. */
export interface RunningRead {
  readonly account: string;
  readonly claim: ClaimedPoll;
  readonly read: Pick<ClaimedRead, 'isLeaseRenewed'>;
  /** Aborts the read: it makes no further request. */
  readonly ending: AbortController;
}

/**
 * Limits the number of running reads of this process, and renews their leases with one call per account. A claim that
 * is not answered yet takes the slot of the read that it may start.
 *
 * An account never has more running reads than there are free slots. Slots therefore remain for other
 * accounts when many upstreams hang.
 */
export class RunningReads {
  /** The promise of each running read, which resolves at its end. */
  private readonly running = new Map<RunningRead, Promise<unknown>>();
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

  /**
   * Returns how many more reads an account may start now.
   * @param ofAccount number of running reads of the account
   */
  freeSlots(ofAccount: number): number {
    // Each further read takes a slot, and may not leave fewer free slots than the account then uses.
    return Math.ceil((this.slots - this.claiming - this.running.size - ofAccount) / 2);
  }

  /**
   * Takes as many slots as the account may use now, at most `max`, while `claim` claims that many contacts and starts
   * their reads. Returns undefined without a call of `claim` if the account may start no read.
   * @param ofAccount number of running reads of the account
   */
  async whileClaiming<T>(
    ofAccount: number,
    max: number,
    claim: (count: number) => Promise<T>,
  ): Promise<T | undefined> {
    const count = Math.min(max, this.freeSlots(ofAccount));
    if (count < 1) return undefined;
    this.claiming += count;
    try {
      return await claim(count);
    } finally {
      this.claiming -= count;
    }
  }

  /**
   * Starts a read. Resolves when the read has ended and its slot is free.
   * @param run must not reject
   */
  start<T>(read: RunningRead, run: () => Promise<T>): Promise<T> {
    this.timer ??= setInterval(() => {
      this.renewAll();
    }, this.renewalMs);
    const task = run().finally(() => {
      this.running.delete(read);
      if (this.running.size === 0) {
        clearInterval(this.timer);
        this.timer = undefined;
      }
    });
    this.running.set(read, task);
    return task;
  }

  /** Aborts all reads. Each read ends after it has committed what it has read. */
  endAll(): void {
    for (const { ending } of this.running.keys()) ending.abort();
  }

  /** Resolves when no read is running. */
  async ended(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running.values());
  }

  private renewAll(): void {
    const accounts = new Map<string, RunningRead[]>();
    for (const read of this.running.keys()) {
      const ofAccount = accounts.get(read.account) ?? [];
      accounts.set(read.account, ofAccount);
      ofAccount.push(read);
    }
    for (const [account, reads] of accounts) void this.renew(account, reads);
  }

  private async renew(account: string, running: readonly RunningRead[]): Promise<void> {
    if (this.renewing.has(account)) return;
    this.renewing.add(account);
    try {
      const reads = running.filter(({ read }) => read.isLeaseRenewed);
      const claims = reads.map(({ claim }) => claim);
      const lost = new Set(await this.queue.renew(account, claims));
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
