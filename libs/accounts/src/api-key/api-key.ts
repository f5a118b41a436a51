import { createHash } from 'node:crypto';

/** What a key may do. */
export const SCOPES = ['messages:send', 'messages:read', 'webhooks:manage', 'events:read', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

/** The id of the key that the environment gives. */
export const ENVIRONMENT_KEY = 'environment';

/** Who is calling. */
export interface Principal {
  /** The key's id, which is no secret. */
  keyId: string;
  account: string;
  scopes: ReadonlySet<Scope>;
}

/** Knows the API keys by their hashes. */
export interface ApiKeys {
  /** The caller that a key belongs to, or undefined for a key that nobody has. */
  authenticate(key: string): Promise<Principal | undefined>;
}

/** The keys that are fixed at start. Looking up by digest makes the time it takes independent of how much of a key is right. */
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
