import { createHash, randomBytes } from 'node:crypto';
import type { StoredApiKey } from '../api-key/stored-api-key.js';

/** How long sessions last, in milliseconds. */
export interface SessionLimits {
  /** A session ends after this time without a request. */
  idleMs: number;
  /** Maximum lifetime of a session, however often it is used. */
  lifetimeMs: number;
  /** Minimum time between two updates of `SessionEnds.idleEndsAt`, so that not every request causes a write. */
  renewMs: number;
}

export const SESSION_LIMITS: SessionLimits = { idleMs: 1_800_000, lifetimeMs: 43_200_000, renewMs: 60_000 };

/** Maximum number of sessions of one API key. A further sign-in ends the session whose last use is longest ago. */
export const MAX_SESSIONS_PER_API_KEY = 20;

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
  /** Id of the API key that signed in. The session ends when the API key expires or is revoked. */
  keyId: string;
  /**
   * Proves that the text of the API key has not changed since the sign-in; see `InMemoryApiKeyAuthenticator.proofOf`.
   * Only sessions of an API key from the environment variables have this field.
   */
  keyProof?: string;
}

/** When a session ends, in milliseconds since 1970 by the store's clock. */
export interface SessionEnds {
  /** Time at which the session ends at the latest, even if it is still in use. */
  endsAt: number;
  /** When the session ends if no further request uses it. Never later than `endsAt`. */
  idleEndsAt: number;
}

/** A stored session, and the data that shows whether it is still valid. All of this is read in one step. */
export interface FoundSession extends SessionEnds {
  session: StoredSession;
  /**
   * The API key that signed in. Undefined if the API key was revoked, or if it is the one of the environment variable
   * `API_KEY`.
   */
  apiKey: StoredApiKey | undefined;
  /** The current time by the store's clock, in milliseconds since 1970. */
  now: number;
}

/** How long a new session lasts, and which sessions it replaces. */
export interface SessionTerms {
  limits: SessionLimits;
  /**
   * When the API key expires, in milliseconds since 1970. The session ends at this time at the latest. Absent if the
   * API key does not expire.
   */
  latestEnd?: number;
  /** Ids of earlier sessions of the same API key. They end when the new session is stored. */
  replaced: readonly string[];
}

/** Stores sessions until they end. */
export interface SessionStore {
  /**
   * Stores a session. If its API key then has more than the maximum number of sessions, the session whose last use is
   * longest ago ends. Every session that `add` ends is recorded as revoked; see `Revocations`.
   */
  add(session: StoredSession, terms: SessionTerms): Promise<SessionEnds>;
  /**
   * Resolves to a session, or to undefined if the session was not found or has ended.
   * @param use limits of the session; present only if a request uses the session. `idleEndsAt` is then postponed, but
   * at most once per `renewMs`. If the store is full or rejects writes, `find` still resolves to the session.
   */
  find(id: string, use?: SessionLimits): Promise<FoundSession | undefined>;
  /** Ends a session and records it as revoked. Resolves to false if the session was not found or has ended. */
  remove(id: string): Promise<boolean>;
}

const TOKEN_PATTERN = /^ts_[\w-]{43}$/;

/** Creates a token for a new session. The token cannot be guessed. */
export function generateSessionToken(): string {
  return `ts_${randomBytes(32).toString('base64url')}`;
}

/** Returns true if a text has the format of a session's token. A text in another format need not be looked up. */
export function hasSessionTokenFormat(text: string): boolean {
  return TOKEN_PATTERN.test(text);
}

/** Returns the SHA-256 hash of a session's token in hexadecimal, and the id of the session, derived from the hash. */
export function idAndHashOfSession(token: string): { id: string; sha256: string } {
  const sha256 = createHash('sha256').update(token).digest('hex');
  return { id: `ses_${sha256.slice(0, 32)}`, sha256 };
}
