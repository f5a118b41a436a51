/** An account as it is stored. */
export interface StoredAccount {
  id: string;
  /** Base address of upstream, without a trailing slash. */
  baseUrl: string;
  /** Upstream's API key, encrypted by a SecretBox; see {@link accountEncryptionContext}. */
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
   * Returns a text that differs after each change of an account, so that callers need not read the list to see that
   * nothing changed. Earlier builds change the text only when they add or remove an account.
   */
  revision(): Promise<string>;
  find(id: string): Promise<StoredAccount | undefined>;
  /**
   * @throws {AccountConflictError} if the id is in use or still being removed, or if the max number of accounts is
   * reached
   */
  add(account: StoredAccount): Promise<void>;
  /**
   * Replaces an account by the result of `change`, even if others change it at the same time. Resolves to undefined
   * if the account is not found.
   */
  change(id: string, change: (before: StoredAccount) => StoredAccount): Promise<StoredAccount | undefined>;
  /**
   * Removes an account and its API keys in one step, and records that its data must be erased. From then on its API
   * keys are invalid, and its id stays reserved. Resolves to false if the account is not found.
   */
  remove(id: string): Promise<boolean>;
  /** Lists the removed accounts whose data is not erased yet. */
  listRemoved(): Promise<RemovedAccount[]>;
  /**
   * Records that the data of this removed account is erased, and frees its id. A later removal of the same id stays.
   */
  forgetRemoval(account: RemovedAccount): Promise<void>;
}

/**
 * Returns the context that an account's upstream key is encrypted with. The key cannot be decrypted in another
 * context.
 */
export function accountEncryptionContext(id: string): string {
  return `account:${id}`;
}
