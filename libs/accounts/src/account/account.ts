/** The account that the environment describes. */
export const DEFAULT_ACCOUNT = 'default';

/** What an account's id looks like. No dot: keys of Redis that belong to no account are tagged with one. */
export const ACCOUNT_ID = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** One account at the upstream service. */
export interface Account {
  id: string;
  /** The upstream's base address, `/v1` included, without a trailing slash. */
  baseUrl: string;
  apiKey: string;
  /** The budget: requests a second, over all processes together. */
  requestsPerSecond: number;
  /** Whether its contacts and messages are polled. */
  polling: boolean;
  /** When it was added, in milliseconds since 1970; absent for the environment's. */
  addedAt?: number;
}

/** There is no such account (any more). */
export class AccountGoneError extends Error {
  constructor(readonly account: string) {
    super(`There is no account ${account} (any more).`);
    this.name = 'AccountGoneError';
  }
}

/** Knows the accounts. */
export interface AccountDirectory {
  list(): Promise<Account[]>;
  find(id: string): Promise<Account | undefined>;
}

/** Says cheaply whether accounts changed. */
export interface AccountStamp {
  /** Another text after each change; see `AccountStore.stamp`. */
  stamp(): Promise<string>;
}

/** The accounts that are fixed at start. */
export class FixedAccounts implements AccountDirectory, AccountStamp {
  private readonly accounts: ReadonlyMap<string, Account>;

  constructor(accounts: readonly Account[]) {
    this.accounts = new Map(accounts.map((account) => [account.id, account]));
  }

  list(): Promise<Account[]> {
    return Promise.resolve([...this.accounts.values()]);
  }

  find(id: string): Promise<Account | undefined> {
    return Promise.resolve(this.accounts.get(id));
  }

  stamp(): Promise<string> {
    return Promise.resolve('');
  }
}
