/** An account at rest. */
export interface StoredAccount {
  id: string;
  /** Without a trailing slash. */
  baseUrl: string;
  /** Upstream's key by a SecretBox; see {@link accountContext}. */
  sealedApiKey: string;
  requestsPerSecond: number;
  polling: boolean;
  /** ISO 8601. */
  createdAt: string;
  /** ISO 8601. */
  updatedAt: string;
}

/** An account that is no more, and whose data has yet to go. */
export interface RemovedAccount {
  id: string;
  /** By Redis' clock, in ms since 1970. */
  removedAt: number;
}

/** So many accounts may be stored. */
export const MOST_ACCOUNTS = 1_000;

/** Keeps the accounts that came through the API. */
export interface AccountStore {
  /** In no order. */
  list(): Promise<StoredAccount[]>;
  /**
   * Another text after each change of an account, so that the list need not be read to see that nothing changed. A change
   * that an earlier build made to an account, rather than to their number, does not show.
   */
  stamp(): Promise<string>;
  find(id: string): Promise<StoredAccount | undefined>;
  /** @throws {AccountConflictError} for an id that is taken or still being removed, and for one account too many */
  add(account: StoredAccount): Promise<void>;
  /** Replaces an account by what `change` makes of it, whoever else changes it; undefined where there is none. */
  change(id: string, change: (before: StoredAccount) => StoredAccount): Promise<StoredAccount | undefined>;
  /**
   * Removes an account and its API keys in one step, and notes that its data has to go: from then on nobody gets in
   * for it, and its id is not given away. Answers whether there was one.
   */
  remove(id: string): Promise<boolean>;
  /** The accounts whose data has yet to go. */
  removed(): Promise<RemovedAccount[]>;
  /** The data of this removed account is gone: its id is free. One of the same id that was removed later is not. */
  forget(account: RemovedAccount): Promise<void>;
}

/** What an account's upstream key is sealed for: it opens as nothing else. */
export function accountContext(id: string): string {
  return `account:${id}`;
}
