/** Id of the account that the environment variables define. */
export const DEFAULT_ACCOUNT_ID = 'default';

/**
 * Pattern that every account id matches. The hash tag of an account's Redis keys is the account id. An account id
 * contains no dot, so that it differs from the hash tag `.accounts` of the Redis keys that belong to no single
 * account.
 */
export const ACCOUNT_ID_PATTERN = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** One account at upstream. */
export interface Account {
  id: string;
  /** Base URL of upstream, including its path such as `/v1`, without a trailing slash. */
  baseUrl: string;
  apiKey: string;
  /** Maximum number of upstream requests per second, over all processes. */
  requestsPerSecond: number;
  /** True if the account's contacts and messages are polled. */
  polling: boolean;
  /**
   * When the account was added, in milliseconds since 1970. Absent for the account that the environment
   * variables define.
   */
  addedAt?: number;
}

/** Thrown when an account does not exist or was removed. */
export class AccountNotFoundError extends Error {
  constructor(readonly account: string) {
    super(`The account ${account} was not found.`);
    this.name = 'AccountNotFoundError';
  }
}

/** Lists accounts, and finds an account by its id. */
export interface AccountDirectory {
  list(): Promise<Account[]>;
  find(id: string): Promise<Account | undefined>;
}

/** Lets callers find out whether any account has changed, without reading all accounts. */
export interface AccountRevision {
  /** Returns a text that changes whenever any account changes; see `AccountStore.revision`. */
  revision(): Promise<string>;
}

/** Directory of accounts that do not change while the process runs. */
export class FixedAccountDirectory implements AccountDirectory, AccountRevision {
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
