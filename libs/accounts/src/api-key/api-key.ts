import { createHash, createHmac } from 'node:crypto';

/** Permissions that an API key may have. */
export const API_KEY_SCOPES = [
  'messages:send',
  'messages:read',
  'webhooks:manage',
  'events:read',
  'admin',
] as const;

export type Scope = (typeof API_KEY_SCOPES)[number];

/** Id of the API key that the environment variable `API_KEY` defines. */
export const ENVIRONMENT_API_KEY_ID = 'environment';

/** A caller's session of the web console. */
export interface CallerSession {
  /** Id of the session; the id is not secret. */
  id: string;
  /** When the session ends if no further request uses it, in milliseconds since 1970. */
  endsAt: number;
}

/** The authenticated caller of a request. */
export interface Principal {
  /** Id of the caller's API key; the id is not secret. */
  keyId: string;
  account: string;
  scopes: ReadonlySet<Scope>;
  /** When the caller's API key or token expires, in milliseconds since 1970. Absent if it does not expire. */
  expiresAt?: number;
  /**
   * Id of the caller's token; the id is not secret. Absent for a caller with an API key or a session of the web
   * console.
   */
  tokenId?: string;
  /** The caller's session of the web console. Absent for a caller with an API key or a token. */
  session?: CallerSession;
  /** Ids of the contacts to which the caller's token is restricted. Absent for a caller without restriction. */
  contactIds?: ReadonlySet<string>;
}

/** Authenticates callers by their API keys. */
export interface ApiKeyAuthenticator {
  /** Resolves to the caller that the key belongs to, or to undefined if the key is invalid. */
  authenticate(key: string): Promise<Principal | undefined>;
}

/**
 * Authenticates callers by API keys that do not change while the process runs. API keys are found by their hashes, so
 * that the duration of a search does not reveal how much of a guessed key is correct.
 */
export class InMemoryApiKeyAuthenticator implements ApiKeyAuthenticator {
  private readonly principals: ReadonlyMap<string, Principal>;
  /** Hash of the text of each API key, by the id of the API key. */
  private readonly digests: ReadonlyMap<string, string>;

  constructor(keys: readonly { id: string; key: string; account: string; scopes: readonly Scope[] }[]) {
    this.principals = new Map(
      keys.map(({ id, key, account, scopes }) => [
        digest(key),
        { keyId: id, account, scopes: new Set(scopes) },
      ]),
    );
    this.digests = new Map(keys.map(({ id, key }) => [id, digest(key)]));
  }

  authenticate(key: string): Promise<Principal | undefined> {
    return Promise.resolve(this.principals.get(digest(key)));
  }

  find(id: string): Principal | undefined {
    return this.principals.get(this.digests.get(id) ?? '');
  }

  /**
   * Returns the HMAC of an API key's hash, or undefined if the API key is not found. The key of the HMAC is `secret`.
   * As long as the HMAC stays the same, the text of the API key has not changed. To anyone who does not know
   * `secret`, the HMAC reveals nothing about the API key, even if the API key is easy to guess.
   */
  proofOf(id: string, secret: string): string | undefined {
    const known = this.digests.get(id);
    return known === undefined ? undefined : createHmac('sha256', secret).update(known).digest('hex');
  }
}

function digest(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
