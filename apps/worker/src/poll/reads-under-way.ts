import { type ClaimedPoll, POLL_RENEWAL_MS, type PollQueue } from '#feed';
import type { Logger } from '#platform';

/** One read under way. */
interface UnderWay {
  claim: ClaimedPoll;
  /** Ends it: no further request of it is waited for. */
  ending: AbortController;
}

/**
 * The reads that this process has under way, by account: how many there may be, and their leases, which it renews with one
 * call an account.
 *
 * An account has never more reads under way than places are free: however many accounts' upstreams hang, another one finds
 * places.
 */
export class ReadsUnderWay {
  private readonly accounts = new Map<string, Set<UnderWay>>();
  private readonly tasks = new Set<Promise<unknown>>();
  private readonly renewing = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  /** @param places for reads of all accounts; each read holds a page */
  constructor(
    private readonly places: number,
    private readonly queue: Pick<PollQueue, 'renew'>,
    private readonly logger: Logger,
    private readonly renewalMs = POLL_RENEWAL_MS,
  ) {}

  hasRoom(account: string): boolean {
    return (this.accounts.get(account)?.size ?? 0) < this.places - this.tasks.size;
  }

  /** Whether a read of this account is under way. */
  has(account: string): boolean {
    return this.accounts.has(account);
  }

  /**
   * Resolves at the end of the read, when its place is free.
   * @param read must not reject
   */
  begin<T>(account: string, claim: ClaimedPoll, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const one: UnderWay = { claim, ending: new AbortController() };
    const ofAccount = this.accounts.get(account) ?? new Set();
    this.accounts.set(account, ofAccount.add(one));
    this.timer ??= setInterval(() => {
      for (const id of this.accounts.keys()) void this.renew(id);
    }, this.renewalMs);
    const task = read(one.ending.signal).finally(() => {
      this.tasks.delete(task);
      ofAccount.delete(one);
      if (ofAccount.size === 0) this.accounts.delete(account);
      if (this.accounts.size === 0) {
        clearInterval(this.timer);
        this.timer = undefined;
      }
    });
    this.tasks.add(task);
    return task;
  }

  /** Ends all as soon as they have committed what they have read. */
  endAll(): void {
    for (const reads of this.accounts.values()) for (const { ending } of reads) ending.abort();
  }

  /** Resolves when none is under way. */
  async ended(): Promise<void> {
    while (this.tasks.size > 0) await Promise.all(this.tasks);
  }

  private async renew(account: string): Promise<void> {
    if (this.renewing.has(account)) return;
    this.renewing.add(account);
    try {
      const reads = [...(this.accounts.get(account) ?? [])];
      const lost = new Set(
        await this.queue.renew(
          account,
          reads.map(({ claim }) => claim),
        ),
      );
      for (const { claim, ending } of reads) if (lost.has(claim)) ending.abort();
    } catch (error) {
      // A lease that ends for this costs a read: commits are fenced.
      this.logger.warn({ account, err: error }, 'the leases of polls could not be renewed');
    } finally {
      this.renewing.delete(account);
    }
  }
}
