/** Id of the account that the environment configures. */
export const DEFAULT_ACCOUNT = 'default';

/**
 * Pattern of an account's id. It excludes dots, because Redis keys that belong to no account have a tag with a
 * dot.
 */
export const ACCOUNT_ID_PATTERN = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** One account at upstream. */
export interface Account {
  id: string;
  /** Upstream's base address with `/v1`, without a trailing slash. */
  baseUrl: string;
  apiKey: string;
  /** Budget of upstream requests per second, over all processes. */
  requestsPerSecond: number;
  /** True if the account's contacts and messages are polled. */
  polling: boolean;
  /**
   * When the account was added, in milliseconds since 1970. Absent for the account that the environment
   * variables define.
   */
  addedAt?: number;
}

/** The account does not exist, or was removed. */
export class AccountNotFoundError extends Error {
  constructor(readonly account: string) {
    super(`The account ${account} was not found.`);
    this.name = 'AccountNotFoundError';
  }
}

/** Finds accounts. */
export interface AccountDirectory {
  list(): Promise<Account[]>;
  find(id: string): Promise<Account | undefined>;
}

/** Shows whether accounts have changed, at little cost. */
export interface AccountRevision {
  /** Returns a text that differs after each change; see `AccountStore.revision`. */
  revision(): Promise<string>;
}

/** Accounts that do not change while the process runs. */
export class FixedAccounts implements AccountDirectory, AccountRevision {
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

  revision(): Promise<string> {
    return Promise.resolve('');
  }
}
