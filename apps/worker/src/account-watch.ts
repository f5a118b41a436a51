import type { Account, AccountDirectory, AccountRevision } from '#accounts';
import { type Logger, pause } from '#platform';

/** Time between two checks of the revision of the account list, in milliseconds. */
const CHECK_INTERVAL_MS = 1_000;
/** Number of checks after which the account list is read even if its revision did not change. */
const CHECKS_PER_FULL_READ = 60;

/**
 * Receives account changes. Implemented by parts that keep a loop, a circuit breaker or a cache per account.
 */
export interface AccountFollower {
  /**
   * Handles an account that exists.
   * @param isNew true if the account was added after this process started
   */
  added?(account: string, isNew: boolean): void;
  /** Handles a change of an account's polling flag, upstream address or request rate. */
  changed?(account: string): void;
  /** Handles the removal of an account. */
  removed?(account: string): void;
}

/**
 * Reports added, changed and removed accounts to its followers within one second. Reports nothing while the
 * account list cannot be read.
 */
export class AccountWatch {
  private readonly followers: AccountFollower[] = [];
  private readonly stopping = new AbortController();
  /** The settings of each known account, serialized for comparison. */
  private known: ReadonlyMap<string, string> | undefined;
  private revision: string | undefined;
  private checks = 0;
  private running: Promise<void> = Promise.resolve();
  private failed = false;

  constructor(
    private readonly accounts: Pick<AccountDirectory, 'list'> & AccountRevision,
    private readonly logger: Logger,
    private readonly intervalMs = CHECK_INTERVAL_MS,
  ) {}

  /** Adds a follower and reports all known accounts to it. */
  follow(follower: AccountFollower): void {
    this.followers.push(follower);
    for (const account of this.known?.keys() ?? []) follower.added?.(account, false);
  }

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      try {
        await this.check();
        this.failed = false;
      } catch (error) {
        // Log an outage once: the check runs every second.
        if (!this.failed) this.logger.warn({ err: error }, 'could not read the account list; retrying');
        this.failed = true;
      }
      await pause(this.intervalMs, this.stopping.signal);
    }
  }

  private async check(): Promise<void> {
    // The revision is read before the list: if the list changes between the two reads, the next check sees a new
    // revision.
    const revision = await this.accounts.revision();
    const isDue = this.checks % CHECKS_PER_FULL_READ === 0;
    this.checks += 1;
    if (revision === this.revision && !isDue) return;
    const accounts = await this.accounts.list();
    this.revision = revision;
    this.notify(new Map(accounts.map((account) => [account.id, settingsOf(account)])));
  }

  private notify(now: ReadonlyMap<string, string>): void {
    const before = this.known;
    this.known = now;
    for (const account of before?.keys() ?? []) {
      if (!now.has(account)) for (const follower of this.followers) follower.removed?.(account);
    }
    for (const [account, content] of now) {
      const earlier = before?.get(account);
      if (earlier === content) continue;
      for (const follower of this.followers) {
        if (earlier === undefined) follower.added?.(account, before !== undefined);
        else follower.changed?.(account);
      }
    }
  }
}

function settingsOf({ baseUrl, requestsPerSecond, polling, addedAt }: Account): string {
  return JSON.stringify([baseUrl, requestsPerSecond, polling, addedAt]);
}
