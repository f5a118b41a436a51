export {
  type Account,
  ACCOUNT_ID,
  type AccountDirectory,
  AccountGoneError,
  DEFAULT_ACCOUNT,
  FixedAccounts,
} from './account.js';
export { AccountConflictError } from './account-conflict.js';
export {
  accountContext,
  type AccountStore,
  MOST_ACCOUNTS,
  type RemovedAccount,
  type StoredAccount,
} from './account-store.js';
export { Accounts } from './accounts.js';
export {
  type ApiKeys,
  ENVIRONMENT_KEY,
  FixedApiKeys,
  type Principal,
  type Scope,
  SCOPES,
} from './api-key.js';
export { RedisAccountErasure } from './redis-account-erasure.js';
export { RedisAccountStore } from './redis-account-store.js';
export { environmentAccounts, openAccounts } from './redis-accounts.js';
export { SealBrokenError, SecretBox } from './secret-box.js';
