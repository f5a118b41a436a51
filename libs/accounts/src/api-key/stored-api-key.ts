import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Scope } from './api-key.js';

/** An API key as the API shows it: all fields except the key's text. */
export interface ApiKey {
  /**
   * Id of the API key: `environment` for the key that the environment variable `API_KEY` defines, otherwise in the form
   * `key_…`. The id does not reveal the text of the key.
   */
  id: string;
  account: string;
  name: string;
  scopes: Scope[];
  /**
   * When the key was created, as an ISO 8601 time. Null for the key that the environment variable `API_KEY`
   * defines.
   */
  createdAt: string | null;
  /** When the key expires, as an ISO 8601 time. Null for a key that does not expire. */
  expiresAt: string | null;
}

/** An API key with the time of its last use, as the list of API keys shows it. */
export interface ListedApiKey extends ApiKey {
  /**
   * When the API key, or a token or session of the API key, was last used, as an ISO 8601 time. Null if no use was
   * recorded.
   */
  lastUsedAt: string | null;
}

/**
 * An API key as it is stored: with a hash of its text instead of the text. A fast hash is safe here, because
 * an API key has 256 random bits and cannot be guessed.
 */
export interface StoredApiKey extends ApiKey {
  createdAt: string;
  /** SHA-256 hash of the key, in hexadecimal. */
  sha256: string;
}

/** Maximum number of API keys of one account. */
export const MAX_API_KEYS_PER_ACCOUNT = 1_000;
/**
 * Maximum number of API keys of all accounts together. The number is limited, because the API lists all API
 * keys in one reply.
 */
export const MAX_API_KEYS_OF_ALL_ACCOUNTS = 10_000;

/** Stores the API keys that were created through the API. */
export interface ApiKeyStore {
  /**
   * Lists the API keys of one account, or of all accounts if `account` is left out, in no particular order.
   */
  list(account?: string): Promise<StoredApiKey[]>;
  find(id: string): Promise<StoredApiKey | undefined>;
  /**
   * Reads an API key and the current time in one step. `now` is the time by the store's clock, in
   * milliseconds since 1970. Resolves to undefined if the API key is not found.
   */
  findWithTime(id: string): Promise<{ key: StoredApiKey; now: number } | undefined>;
  /**
   * Stores an API key. Resolves to false if the API key's account is not found. If the maximum number of API keys is
   * reached, removes the one that expired first.
   * @param isFixed true if the environment variables define the account. Such an account is not in the store, so
   * `add` does not look for it there
   * @throws {AccountConflictError} if the maximum number of API keys is reached and none of them has expired
   */
  add(key: StoredApiKey, isFixed: boolean): Promise<boolean>;
  /**
   * Removes an API key. From then on, every gateway rejects the API key. Resolves to false if the API key is
   * not found.
   */
  remove(id: string): Promise<boolean>;
}

/**
 * Stores when each API key was last used. The times are approximate: a gateway does not record every use, and records
 * a use with a short delay.
 */
export interface ApiKeyUses {
  /**
   * Records when API keys were last used, including the API key of the environment variable `API_KEY`. A time is
   * ignored if a later time is already stored, or if the API key does not exist.
   * @param uses time of the last use in milliseconds since 1970, by the id of the API key
   */
  recordUses(uses: ReadonlyMap<string, number>): Promise<void>;
  /**
   * Returns when API keys were last used, in milliseconds since 1970, by the id of the API key. API keys without a
   * recorded use are left out.
   */
  lastUses(ids: readonly string[]): Promise<Map<string, number>>;
}

const KEY_PATTERN = /^tidings_[\w-]{43}$/;

/** Creates the text of a new, unguessable API key. */
export function generateApiKeyText(): string {
  return `tidings_${randomBytes(32).toString('base64url')}`;
}

/**
 * Returns true if a text has the format of the API keys that {@link generateApiKeyText} creates. A text in another
 * format need not be looked up in the store.
 */
export function hasGeneratedApiKeyFormat(text: string): boolean {
  return KEY_PATTERN.test(text);
}

/**
 * Returns the SHA-256 hash of an API key in hexadecimal, and the id of the API key, which is derived from the
 * hash.
 */
export function idAndHashOfApiKey(text: string): { id: string; sha256: string } {
  const sha256 = createHash('sha256').update(text).digest('hex');
  return { id: `key_${sha256.slice(0, 32)}`, sha256 };
}

/**
 * Returns true if two hexadecimal hashes are equal. The duration of the comparison does not reveal where the hashes
 * differ.
 */
export function areHashesEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return a.length === b.length && timingSafeEqual(a, b);
}
