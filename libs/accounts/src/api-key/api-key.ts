import { createHash } from 'node:crypto';

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

/** The authenticated caller of a request. */
export interface Principal {
  /** Id of the caller's API key; the id is not secret. */
  keyId: string;
  account: string;
  scopes: ReadonlySet<Scope>;
}

/** Authenticates callers by their API keys. */
export interface ApiKeys {
  /** Resolves to the caller that the key belongs to, or to undefined if the key is invalid. */
  authenticate(key: string): Promise<Principal | undefined>;
}

/**
 * API keys that do not change while the process runs. They are compared by their hashes, so that the duration
 * of a comparison does not reveal how much of a guessed key is correct.
 */
export class FixedApiKeys implements ApiKeys {
  private readonly principals: ReadonlyMap<string, Principal>;

  constructor(keys: readonly { id: string; key: string; account: string; scopes: readonly Scope[] }[]) {
    this.principals = new Map(
      keys.map(({ id, key, account, scopes }) => [
        digest(key),
        { keyId: id, account, scopes: new Set(scopes) },
      ]),
    );
  }

  authenticate(key: string): Promise<Principal | undefined> {
    return Promise.resolve(this.principals.get(digest(key)));
  }
}

function digest(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
