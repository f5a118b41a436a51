import { accountKeys } from '#platform';

/**
 * Where what belongs to no single account is kept: under one hash tag, so that a script can change it together. No
 * account's id has a dot.
 */
const TAG = '.accounts';

export interface RegistryKeys {
  /** Hash: account id → StoredAccount. */
  accounts: string;
  /** Counts the changes of accounts. */
  version: string;
  /** Hash: account id → when it was removed, of those whose data has yet to go. */
  removed: string;
  /** Hash: key id → StoredApiKey. */
  apiKeys: string;
  /** Set: the ids of the encryption keys that something may be sealed with. */
  encryptionKeys: string;
  /** Set: the ids of an account's keys. */
  keysOf: (account: string) => string;
}

export function registryKeys(prefix: string): RegistryKeys {
  const key = accountKeys(prefix, TAG);
  return {
    accounts: key('accounts'),
    version: key('version'),
    removed: key('removed'),
    apiKeys: key('api-keys'),
    encryptionKeys: key('encryption-keys'),
    keysOf: (account) => key('api-keys-of', account),
  };
}
