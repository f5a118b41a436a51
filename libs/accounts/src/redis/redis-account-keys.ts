import { accountKeys } from '#platform';

/**
 * Hash tag of all keys that belong to no single account. One script can change them together. The tag has a dot,
 * which no account's id has.
 */
const TAG = '.accounts';

export interface RegistryKeys {
  /** Hash: account id → StoredAccount. */
  accounts: string;
  /** Counter of the changes of accounts. */
  version: string;
  /** Hash: account id → time of the removal, for accounts whose data is not erased yet. */
  removed: string;
  /** Hash: key id → StoredApiKey. */
  apiKeys: string;
  /** Set: the ids of the encryption keys that stored secrets may be encrypted with. */
  encryptionKeys: string;
  /** Set: the ids of an account's API keys. */
  apiKeysOf: (account: string) => string;
}

export function registryKeys(prefix: string): RegistryKeys {
  const key = accountKeys(prefix, TAG);
  return {
    accounts: key('accounts'),
    version: key('version'),
    removed: key('removed'),
    apiKeys: key('api-keys'),
    encryptionKeys: key('encryption-keys'),
    apiKeysOf: (account) => key('api-keys-of', account),
  };
}
