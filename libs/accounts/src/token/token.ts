import { createHash, randomBytes } from 'node:crypto';
import type { Scope } from '../api-key/api-key.js';
import type { StoredApiKey } from '../api-key/stored-api-key.js';

/** Scopes that a token may have. */
export const TOKEN_SCOPES = ['messages:send', 'messages:read', 'events:read'] as const satisfies Scope[];

export type TokenScope = (typeof TOKEN_SCOPES)[number];

/** Maximum lifetime of a token, in seconds. */
export const MAX_TOKEN_LIFETIME_SECONDS = 86_400;

/** Maximum number of unexpired tokens of one API key. The maximum limits the memory that tokens take in Redis. */
export const MAX_TOKENS_PER_API_KEY = 10_000;

/**
 * A token as it is stored: with a hash of its text instead of the text. A fast hash is safe here, because a
 * token has 256 random bits and cannot be guessed.
 */
export interface StoredToken {
  /** Id of the token, in the form `tok_…`. The id does not reveal the token. */
  id: string;
  /** SHA-256 hash of the token, in hexadecimal. */
  sha256: string;
  account: string;
  /** Id of the API key that created the token. The token becomes invalid when the API key expires or is revoked. */
  keyId: string;
  /**
   * Proves that the text of the API key has not changed since the token was created; see
   * `InMemoryApiKeyAuthenticator.proofOf`. Only tokens of an API key from the environment variables have this field.
   */
  keyProof?: string;
  scopes: TokenScope[];
  /** Ids of the contacts to which the token is restricted. Absent for a token without restriction. */
  contactIds?: string[];
}

/** A stored token, and the data that shows whether it is still valid. All of this is read in one step. */
export interface FoundToken {
  token: StoredToken;
  /** When the token expires, in milliseconds since 1970 by the store's clock. */
  expiresAt: number;
  /**
   * The API key that created the token. Undefined if the API key was revoked, or if it is the one of the environment
   * variable `API_KEY`.
   */
  apiKey: StoredApiKey | undefined;
  /** The current time by the store's clock, in milliseconds since 1970. */
  now: number;
}

/** Stores tokens until they expire or are removed. */
export interface TokenStore {
  /**
   * Stores a token for `lifetimeMs` milliseconds, but not beyond `latestEnd` (milliseconds since 1970), if present.
   * Resolves to the time when the token expires, in milliseconds since 1970 by the store's clock.
   * @throws {AccountConflictError} if the API key already has {@link MAX_TOKENS_PER_API_KEY} tokens
   */
  add(token: StoredToken, lifetimeMs: number, latestEnd?: number): Promise<number>;
  /** Resolves to a token, or to undefined if the token was not found or has expired. */
  find(id: string): Promise<FoundToken | undefined>;
  /**
   * Removes a token and records its revocation for {@link Revocations}. Resolves to false if the token was not
   * found, or belongs to another account.
   */
  remove(account: string, id: string): Promise<boolean>;
}

/**
 * The recent revocations of tokens, sessions and API keys. A process reads the revocations to end the event streams
 * of a caller soon after the caller's token, session or API key was revoked.
 */
export interface Revocations {
  /** Returns the position of the last revocation in the list of revocations. */
  end(): Promise<string>;
  /**
   * Reads the list of revocations after `position`. Returns the ids of the revoked tokens, sessions and API keys, and
   * the position for the next call.
   */
  after(position: string): Promise<{ ids: string[]; position: string }>;
}

const TOKEN_PATTERN = /^tt_[\w-]{43}$/;

/** Creates the text of a new, unguessable token. */
export function generateTokenText(): string {
  return `tt_${randomBytes(32).toString('base64url')}`;
}

/** Returns true if a text has the format of a token. A text in another format need not be looked up. */
export function hasTokenFormat(text: string): boolean {
  return TOKEN_PATTERN.test(text);
}

/** Returns the SHA-256 hash of a token in hexadecimal, and the id of the token, which is derived from the hash. */
export function idAndHashOfToken(text: string): { id: string; sha256: string } {
  const sha256 = createHash('sha256').update(text).digest('hex');
  return { id: `tok_${sha256.slice(0, 32)}`, sha256 };
}
