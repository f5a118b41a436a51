/**
 * Builds the Redis keys of one account. All keys share the hash tag `{account}`: a Redis Cluster keeps them in one
 * slot, and one script can change them together.
 */
export type AccountKeys = (...parts: readonly string[]) => string;

/** Returns the function that builds an account's keys from the parts of their names. */
export function accountKeys(prefix: string, account: string): AccountKeys {
  return (...parts) => [prefix, `{${account}}`, ...parts].join(':');
}
