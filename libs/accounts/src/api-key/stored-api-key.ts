import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Scope } from './api-key.js';

/** An API key as it is shown: everything but the key. */
export interface ApiKey {
  /** `key_…`, which says nothing about the key. */
  id: string;
  account: string;
  name: string;
  scopes: Scope[];
  /** ISO 8601; null for the environment's key, whose beginning nobody noted. */
  createdAt: string | null;
  /** ISO 8601; null for a key that does not expire. */
  expiresAt: string | null;
}

/** An API key at rest: as its hash. 256 random bits need no slower one. */
export interface StoredApiKey extends ApiKey {
  createdAt: string;
  /** In hexadecimal. */
  sha256: string;
}

/** So many keys one account may have. */
export const MOST_KEYS_OF_ACCOUNT = 1_000;
/** And so many there may be in all: they are listed in one piece. */
export const MOST_KEYS = 10_000;

/** Keeps the API keys that came through the API. */
export interface ApiKeyStore {
  /** Of one account or of all, in no order. */
  list(account?: string): Promise<StoredApiKey[]>;
  find(id: string): Promise<StoredApiKey | undefined>;
  /** The key, and the time by the store's clock in ms since 1970, in one step. */
  findNow(id: string): Promise<{ key: StoredApiKey; now: number } | undefined>;
  /**
   * Answers false where there is no such account.
   * @param isFixed whether the account is not among the stored ones
   * @throws {AccountConflictError} for one key too many
   */
  add(key: StoredApiKey, isFixed: boolean): Promise<boolean>;
  /** From then on nobody gets in with it, at any gateway. Answers whether there was one. */
  remove(id: string): Promise<boolean>;
}

const FORM = /^tidings_[\w-]{43}$/;

/** A new key that nobody can guess. */
export function newApiKeyText(): string {
  return `tidings_${randomBytes(32).toString('base64url')}`;
}

/** Whether a text may be a stored key: others need not be looked up. */
export function mayBeStoredKey(text: string): boolean {
  return FORM.test(text);
}

/** The hash of a key, and the id that follows from it. */
export function identify(text: string): { id: string; sha256: string } {
  const sha256 = createHash('sha256').update(text).digest('hex');
  return { id: `key_${sha256.slice(0, 32)}`, sha256 };
}

/** Compares two hashes in a time that tells nothing of where they differ. */
export function isSameHash(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return a.length === b.length && timingSafeEqual(a, b);
}
