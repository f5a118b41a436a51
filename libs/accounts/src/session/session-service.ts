import type { InMemoryApiKeyAuthenticator, Principal, Scope } from '../api-key/api-key.js';
import { areHashesEqual } from '../api-key/stored-api-key.js';
import {
  type FoundSession,
  hasSessionTokenFormat,
  idAndHashOfSession,
  generateSessionToken,
  SESSION_LIMITS,
  type SessionLimits,
  type SessionStore,
} from './session.js';

/** A session as the console shows it. */
export interface Session {
  id: string;
  account: string;
  keyId: string;
  scopes: Scope[];
  /** Time at which the session ends at the latest, even if it is still in use, as an ISO 8601 time. */
  expiresAt: string;
  /** The session ends after this many seconds without a request. */
  idleSeconds: number;
}

/** A valid session, and the caller that it authenticates. */
export interface OpenSession {
  session: Session;
  caller: Principal;
}

/**
 * Creates, authenticates and ends sessions of the web console. A session stands for the API key that signed in, with
 * the same account and scopes. Nothing is cached between requests: as soon as a session ends, or its API key expires
 * or is revoked, every gateway rejects the session.
 */
export class SessionService {
  constructor(
    private readonly fixed: Pick<InMemoryApiKeyAuthenticator, 'find' | 'proofOf'>,
    private readonly store: SessionStore,
    private readonly limits: SessionLimits = SESSION_LIMITS,
  ) {}

  /**
   * Creates a session for an API key. The token of the session is returned only here.
   * @param owner the API key that signs in
   * @param replaced ids of earlier sessions of the same API key, which the new session replaces
   */
  async create(
    { keyId, account, scopes, expiresAt: latestEnd }: Principal,
    replaced: readonly string[] = [],
  ): Promise<{ token: string; session: Session }> {
    const token = generateSessionToken();
    const { id, sha256 } = idAndHashOfSession(token);
    const keyProof = this.fixed.proofOf(keyId, token);
    const stored = { id, sha256, account, keyId, ...(keyProof === undefined ? {} : { keyProof }) };
    const { endsAt } = await this.store.add(stored, {
      ...{ limits: this.limits, replaced },
      ...(latestEnd === undefined ? {} : { latestEnd }),
    });
    return { token, session: this.describe({ id, account, keyId, scopes, endsAt }) };
  }

  /**
   * Resolves to the caller that a session's token authenticates, or to undefined if the token is invalid. Counts as a
   * use of the session, which may postpone its end; see `SessionEnds.idleEndsAt`.
   */
  async authenticate(token: string): Promise<Principal | undefined> {
    return (await this.read(token, this.limits))?.caller;
  }

  /**
   * Resolves to the session of a token, or to undefined if the token is invalid. Does not count as a use of the
   * session.
   */
  find(token: string): Promise<OpenSession | undefined> {
    return this.read(token);
  }

  /** Ends a session. Resolves to false if the session was not found or has already ended. */
  async end(token: string): Promise<boolean> {
    return await this.store.remove(idAndHashOfSession(token).id);
  }

  private async read(token: string, use?: SessionLimits): Promise<OpenSession | undefined> {
    if (!hasSessionTokenFormat(token)) return undefined;
    const { id, sha256 } = idAndHashOfSession(token);
    const found = await this.store.find(id, use);
    if (found === undefined || !areHashesEqual(found.session.sha256, sha256)) return undefined;
    const { endsAt, idleEndsAt, now } = found;
    if (Math.min(endsAt, idleEndsAt) <= now) return undefined;
    const key = this.keyOf(found, token);
    if (key?.account !== found.session.account) return undefined;
    const { account, keyId } = found.session;
    const { scopes, expiresAt } = key;
    return {
      session: this.describe({ id, account, keyId, scopes, endsAt }),
      caller: {
        ...{ keyId, account, scopes, session: { id, endsAt: idleEndsAt } },
        ...(expiresAt === undefined ? {} : { expiresAt }),
      },
    };
  }

  /** Returns the API key of a session, or undefined if the key is no longer valid. */
  private keyOf(
    { session: { keyId, keyProof }, apiKey, now }: FoundSession,
    token: string,
  ): Pick<Principal, 'account' | 'scopes' | 'expiresAt'> | undefined {
    if (keyProof !== undefined)
      return this.fixed.proofOf(keyId, token) === keyProof ? this.fixed.find(keyId) : undefined;
    if (apiKey === undefined) return undefined;
    const { account, scopes } = apiKey;
    if (apiKey.expiresAt === null) return { account, scopes: new Set(scopes) };
    const expiresAt = Date.parse(apiKey.expiresAt);
    return expiresAt <= now ? undefined : { account, scopes: new Set(scopes), expiresAt };
  }

  private describe({
    endsAt,
    scopes,
    ...ids
  }: Pick<Principal, 'account' | 'keyId' | 'scopes'> & { id: string; endsAt: number }): Session {
    const { id, account, keyId } = ids;
    const expiresAt = new Date(endsAt).toISOString();
    return { id, account, keyId, scopes: [...scopes], expiresAt, idleSeconds: this.limits.idleMs / 1_000 };
  }
}
