import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Scope } from './api-key.js';

/** An API key as the API shows it: all fields except the key's text. */
export interface ApiKey {
  /** Id of the form `key_…`. The id does not reveal the key. */
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

/** An API key as it is stored: only its hash. A key has 256 random bits, so it needs no slower hash. */
export interface StoredApiKey extends ApiKey {
  createdAt: string;
  /** SHA-256 hash of the key, in hexadecimal. */
  sha256: string;
}

/** Maximum number of API keys of one account. */
export const MAX_KEYS_PER_ACCOUNT = 1_000;
/** Maximum number of API keys of all accounts. The API lists all keys in one reply. */
export const MAX_KEYS = 10_000;

/** Stores the API keys that were created through the API. */
export interface ApiKeyStore {
  /** Lists the keys of one account, or of all accounts, in no particular order. */
  list(account?: string): Promise<StoredApiKey[]>;
  find(id: string): Promise<StoredApiKey | undefined>;
  /**
   * Reads a key and the current time in one step. The time is by the store's clock, in milliseconds since 1970.
   */
  findWithTime(id: string): Promise<{ key: StoredApiKey; now: number } | undefined>;
  /**
   * Stores a key. Resolves to false if the account is not found.
   * @param isFixed true if the account is the environment's, which the store does not contain
   * @throws {AccountConflictError} if the max number of keys is reached
   */
  add(key: StoredApiKey, isFixed: boolean): Promise<boolean>;
  /** Removes a key. It is invalid from then on, at every gateway. Resolves to false if the key is not found. */
  remove(id: string): Promise<boolean>;
}

const KEY_PATTERN = /^tidings_[\w-]{43}$/;

/** Creates the text of a new, unguessable API key. */
export function newApiKeyText(): string {
  return `tidings_${randomBytes(32).toString('base64url')}`;
}

/** Returns true if a text has the form of a stored key. Texts of another form need no look-up. */
export function hasStoredApiKeyFormat(text: string): boolean {
  return KEY_PATTERN.test(text);
}

/** Returns the hash of a key, and the id that is derived from the hash. */
export function identifyApiKey(text: string): { id: string; sha256: string } {
  const sha256 = createHash('sha256').update(text).digest('hex');
  return { id: `key_${sha256.slice(0, 32)}`, sha256 };
}

/** Compares two hashes in constant time. */
export function isSameHash(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return a.length === b.length && timingSafeEqual(a, b);
}
