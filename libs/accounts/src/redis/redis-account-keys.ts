import { accountKeys } from '#platform';

/**
 * Hash tag of the Redis keys that belong to no single account. Redis Cluster stores keys with the same hash tag on
 * one node, so one script can change all of these keys. The hash tag contains a dot, so it differs from every account
 * id.
 */
const TAG = '.accounts';

export interface CrossAccountKeys {
  /** Redis key of a hash that maps an account's id to the account (a `StoredAccount` as JSON). */
  accounts: string;
  /** Redis key of a counter that increases with every change of an account. */
  version: string;
  /**
   * Redis key of a hash that maps the id of a removed account to the record of the removal, until the
   * account's data is erased.
   */
  removed: string;
  /** Redis key of a hash that maps an API key's id to the API key (a `StoredApiKey` as JSON). */
  apiKeys: string;
  /**
   * Redis key of a hash that maps an API key's id to the time of its last use, in milliseconds since 1970. The times
   * are not in the records of the API keys, because those records never change.
   */
  apiKeyUses: string;
  /** Redis key of the set of ids of the encryption keys that stored secrets may be encrypted with. */
  encryptionKeys: string;
  /** Returns the Redis key of the set of ids of an account's API keys. */
  apiKeysOf: (account: string) => string;
  /** Redis key of the stream of recent revocations of tokens, sessions and API keys. */
  revocations: string;
  /** Returns the Redis key of the Redis hash that stores a token. The key expires with the token. */
  token: (id: string) => string;
  /**
   * Returns the Redis key of the sorted set of an API key's token ids; the score is the time when the token expires.
   */
  tokensOf: (keyId: string) => string;
  /** Returns the Redis key of the Redis hash that stores a session. The key expires when the session ends. */
  session: (id: string) => string;
  /**
   * Returns the Redis key of the sorted set of an API key's session ids. The score of a session is the time of its
   * last use plus the idle time.
   */
  sessionsOf: (keyId: string) => string;
}

/** Returns the Redis keys that belong to no single account. */
export function crossAccountRedisKeys(prefix: string): CrossAccountKeys {
  const key = accountKeys(prefix, TAG);
  return {
    accounts: key('accounts'),
    version: key('version'),
    removed: key('removed'),
    apiKeys: key('api-keys'),
    apiKeyUses: key('api-key-uses'),
    encryptionKeys: key('encryption-keys'),
    apiKeysOf: (account) => key('api-keys-of', account),
    revocations: key('revocations'),
    token: (id) => key('token', id),
    tokensOf: (keyId) => key('tokens-of', keyId),
    session: (id) => key('session', id),
    sessionsOf: (keyId) => key('sessions-of', keyId),
  };
}
