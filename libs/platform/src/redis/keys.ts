/**
 * Function that builds the Redis keys of one account. All these keys have the hash tag `{account}`. A Redis
 * Cluster therefore keeps them in one slot, and one script can change them together.
 */
export type AccountKeys = (...parts: readonly string[]) => string;

/**
 * Returns the function that builds the Redis keys of an account. The returned function gets the parts of a key
 * that follow the prefix and the account.
 */
export function accountKeys(prefix: string, account: string): AccountKeys {
  const start = `${prefix}:{${account}}`;
  return (...parts) => {
    // A script needs tens of keys. Building an array for each key would take more time than this loop.
    let key = start;
    for (const part of parts) key += `:${part}`;
    return key;
  };
}
