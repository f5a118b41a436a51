import { createHash, randomBytes } from 'node:crypto';
import type { StoredApiKey } from '../api-key/stored-api-key.js';

/** How long sessions last, in milliseconds. */
export interface SessionLimits {
  /** Time without a request after which a session ends. */
  idleMs: number;
  /** Maximum lifetime of a session, however often it is used. */
  lifetimeMs: number;
  /** Minimum time between two renewals of the idle time, so that most requests write nothing. */
  renewMs: number;
}

export const SESSION_LIMITS: SessionLimits = { idleMs: 1_800_000, lifetimeMs: 43_200_000, renewMs: 60_000 };

/** Maximum number of sessions of one API key. A further sign-in ends the session that was unused for the longest time. */
export const MAX_SESSIONS_PER_KEY = 20;

/**
 * A session as it is stored: with a hash of its token instead of the token. A fast hash is safe here, because a
 * token has 256 random bits and cannot be guessed.
 */
export interface StoredSession {
  /** Id of the session, in the form `ses_…`. The id does not reveal the token. */
  id: string;
  /** SHA-256 hash of the session's token, in hexadecimal. */
  sha256: string;
  account: string;
  /** Id of the API key that signed in. The session ends with this API key. */
  keyId: string;
  /**
   * Present if the API key is not stored in Redis: shows that the API key still has the same text; see
   * `FixedApiKeys.proofOf`.
   */
  keyProof?: string;
}

/** When a session ends, in milliseconds since 1970 by the store's clock. */
export interface SessionEnds {
  /** When the session ends in any case. */
  endsAt: number;
  /** When the session ends unless it is used. Never after `endsAt`. */
  idleEndsAt: number;
}

/** A stored session with what decides whether it is still valid, all read in one step. */
export interface FoundSession extends SessionEnds {
  session: StoredSession;
  /** The API key that signed in, or undefined if it is not stored, because it was revoked or is fixed. */
  apiKey: StoredApiKey | undefined;
  /** The current time by the store's clock, in milliseconds since 1970. */
  now: number;
}

/** Where and for how long a new session is stored. */
export interface SessionTerms {
  limits: SessionLimits;
  /** Time after which the session must not be valid, in milliseconds since 1970. Absent without such a time. */
  latestEnd?: number;
  /** Ids of sessions of the same API key that end now. */
  replaced: readonly string[];
}

/** Stores sessions until they end. */
export interface SessionStore {
  /**
   * Stores a session. If its API key then has more than the maximum number of sessions, the session that was unused for
   * the longest time ends. Every session that ends here is recorded as revoked; see `Revocations`.
   */
  add(session: StoredSession, terms: SessionTerms): Promise<SessionEnds>;
  /**
   * Resolves to a session, or to undefined if the session was not found or has ended.
   * @param use present if a request uses the session: renews the idle time, unless it was renewed within `renewMs`.
   * While the store is full or rejects writes, the session is read all the same.
   */
  find(id: string, use?: SessionLimits): Promise<FoundSession | undefined>;
  /** Ends a session and records it as revoked. Resolves to false if the session was not found or has ended. */
  remove(id: string): Promise<boolean>;
}

const TOKEN_PATTERN = /^ts_[\w-]{43}$/;

/** Creates the token of a new session, which cannot be guessed. */
export function newSessionToken(): string {
  return `ts_${randomBytes(32).toString('base64url')}`;
}

/** Returns true if a text has the format of a session's token. A text in another format need not be looked up. */
export function hasSessionTokenFormat(text: string): boolean {
  return TOKEN_PATTERN.test(text);
}

/** Returns the SHA-256 hash of a session's token in hexadecimal, and the id of the session, which is derived from the hash. */
export function idAndHashOfSession(token: string): { id: string; sha256: string } {
  const sha256 = createHash('sha256').update(token).digest('hex');
  return { id: `ses_${sha256.slice(0, 32)}`, sha256 };
}
