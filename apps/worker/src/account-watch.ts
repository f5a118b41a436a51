import type { Account, AccountDirectory, AccountStamp } from '#accounts';
import { type Logger, pause } from '#platform';

const LOOK_EVERY_MS = 1_000;
/** Where nothing seems to have changed the accounts are read nonetheless after so many looks. */
const FULL_LOOK_EVERY = 60;

/** One who has something of each account: a loop, a circuit, a memory. */
export interface AccountFollower {
  /** @param isNew whether it came after this process had begun */
  came?(account: string, isNew: boolean): void;
  /** It is polled by now or not any more, or its upstream or its budget changed. */
  changed?(account: string): void;
  went?(account: string): void;
}

/** Tells within a second which accounts come, change and go. While the accounts cannot be read, none does. */
export class AccountWatch {
  private readonly followers: AccountFollower[] = [];
  private readonly stopping = new AbortController();
  /** Each with what would be a change of it. */
  private known: ReadonlyMap<string, string> | undefined;
  private stamp: string | undefined;
  private looks = 0;
  private running: Promise<void> = Promise.resolve();
  private failed = false;

  constructor(
    private readonly accounts: Pick<AccountDirectory, 'list'> & AccountStamp,
    private readonly logger: Logger,
    private readonly everyMs = LOOK_EVERY_MS,
  ) {}

  /** Is told of those that are known already, too. */
  follow(follower: AccountFollower): void {
    this.followers.push(follower);
    for (const account of this.known?.keys() ?? []) follower.came?.(account, false);
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
        await this.look();
        this.failed = false;
      } catch (error) {
        // Once an outage: it is looked every second.
        if (!this.failed) this.logger.warn({ err: error }, 'the accounts could not be read; trying again');
        this.failed = true;
      }
      await pause(this.everyMs, this.stopping.signal);
    }
  }

  private async look(): Promise<void> {
    // Before the list: a change between the two is seen by the next look.
    const stamp = await this.accounts.stamp();
    const isDue = this.looks % FULL_LOOK_EVERY === 0;
    this.looks += 1;
    if (stamp === this.stamp && !isDue) return;
    const accounts = await this.accounts.list();
    this.stamp = stamp;
    this.tell(new Map(accounts.map((account) => [account.id, contentOf(account)])));
  }

  private tell(now: ReadonlyMap<string, string>): void {
    const before = this.known;
    this.known = now;
    for (const account of before?.keys() ?? []) {
      if (!now.has(account)) for (const follower of this.followers) follower.went?.(account);
    }
    for (const [account, content] of now) {
      const earlier = before?.get(account);
      if (earlier === content) continue;
      for (const follower of this.followers) {
        if (earlier === undefined) follower.came?.(account, before !== undefined);
        else follower.changed?.(account);
      }
    }
  }
}

function contentOf({ baseUrl, requestsPerSecond, polling, addedAt }: Account): string {
  return JSON.stringify([baseUrl, requestsPerSecond, polling, addedAt]);
}
