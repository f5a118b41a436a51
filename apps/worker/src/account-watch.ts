import type { AccountDirectory } from '#accounts';
import { type Logger, pause } from '#platform';

const LOOK_EVERY_MS = 1_000;

/** One who has something of each account: a loop, a circuit, a memory. */
export interface AccountFollower {
  /** @param isNew whether it came after this process had begun */
  came?(account: string, isNew: boolean): void;
  went?(account: string): void;
}

/** Tells within a second which accounts come and go. While the accounts cannot be read, none comes or goes. */
export class AccountWatch {
  private readonly followers: AccountFollower[] = [];
  private readonly stopping = new AbortController();
  private known: ReadonlySet<string> | undefined;
  private running: Promise<void> = Promise.resolve();
  private failed = false;

  constructor(
    private readonly accounts: Pick<AccountDirectory, 'list'>,
    private readonly logger: Logger,
    private readonly everyMs = LOOK_EVERY_MS,
  ) {}

  /** Is told of those that are known already, too. */
  follow(follower: AccountFollower): void {
    this.followers.push(follower);
    for (const account of this.known ?? []) follower.came?.(account, false);
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
        this.tell(new Set((await this.accounts.list()).map(({ id }) => id)));
        this.failed = false;
      } catch (error) {
        // Once an outage: it is looked every second.
        if (!this.failed) this.logger.warn({ err: error }, 'the accounts could not be read; trying again');
        this.failed = true;
      }
      await pause(this.everyMs, this.stopping.signal);
    }
  }

  private tell(now: ReadonlySet<string>): void {
    const before = this.known;
    this.known = now;
    for (const account of before ?? []) {
      if (!now.has(account)) for (const follower of this.followers) follower.went?.(account);
    }
    for (const account of now) {
      if (before?.has(account) === true) continue;
      for (const follower of this.followers) follower.came?.(account, before !== undefined);
    }
  }
}
