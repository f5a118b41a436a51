/** An account that was created through the API, as it is stored. */
export interface StoredAccount {
  id: string;
  /** Base URL of upstream, without a trailing slash. */
  baseUrl: string;
  /** The account's API key for upstream, encrypted by a `SecretCipher`; see {@link accountEncryptionContext}. */
  sealedApiKey: string;
  requestsPerSecond: number;
  polling: boolean;
  /** Time at which the account was created (ISO 8601). */
  createdAt: string;
  /** Time of the last change of the account (ISO 8601). */
  updatedAt: string;
}

/** A removed account whose data is not erased yet. */
export interface RemovedAccount {
  id: string;
  /** Time of the removal, in milliseconds since 1970 by Redis' clock. */
  removedAt: number;
}

/** Maximum number of stored accounts. */
export const MAX_ACCOUNTS = 1_000;

/** Stores the accounts that were created through the API. */
export interface AccountStore {
  /** Lists all stored accounts, in no particular order. */
  list(): Promise<StoredAccount[]>;
  /**
   * Returns a text that changes whenever an account is created, changed or removed. Callers compare the text with the
   * one that they got before, and read the accounts again only if the two differ. Exception: if a process of an
   * earlier build of Tidings changes the fields of an account, the text stays the same.
   */
  revision(): Promise<string>;
  find(id: string): Promise<StoredAccount | undefined>;
  /**
   * Stores a new account.
   * @throws {AccountConflictError} if the id is in use, if the data of a removed account with this id is not erased
   * yet, or if the maximum number of accounts is reached
   */
  add(account: StoredAccount): Promise<void>;
  /**
   * Replaces an account with the result of `change`. If another process changes the account at the same time,
   * `change` is called again with the account as the other process stored it. Resolves to undefined if the account is
   * not found.
   */
  change(id: string, change: (before: StoredAccount) => StoredAccount): Promise<StoredAccount | undefined>;
  /**
   * Removes an account and its API keys in one step, and records that the account's data must be erased. The
   * API keys are invalid from then on. The account's id cannot be used again until the data is erased.
   * Resolves to false if the account is not found.
   */
  remove(id: string): Promise<boolean>;
  /** Lists the removed accounts whose data is not erased yet. */
  listRemoved(): Promise<RemovedAccount[]>;
  /**
   * Deletes the record of an account's removal after the account's data was erased. The account's id can then be used
   * again. If another account with the same id has been removed since, the record of that later removal stays.
   */
  deleteRemovalRecord(account: RemovedAccount): Promise<void>;
}

/**
 * Returns the encryption context for an account's upstream API key. A key that was encrypted with this
 * context cannot be decrypted with a different context.
 */
export function accountEncryptionContext(id: string): string {
  return `account:${id}`;
}
