/**
 * The keys of one account. All of them share the hash tag `{account}`, so that a Redis Cluster keeps them in one slot
 * and one script can change them together.
 */
export type AccountKeys = (...parts: readonly string[]) => string;

/** A function from the parts of a name to the account's key of that name. */
export function accountKeys(prefix: string, account: string): AccountKeys {
  return (...parts) => [prefix, `{${account}}`, ...parts].join(':');
}
