export {
  type Account,
  ACCOUNT_ID,
  type AccountDirectory,
  AccountGoneError,
  type AccountStamp,
  DEFAULT_ACCOUNT,
  FixedAccounts,
} from './account.js';
export { AccountConflictError } from './account-conflict.js';
export { KeyNeededError } from './key-needed.js';
export { type AccountChanges, type AccountDescription, AccountRegistry } from './account-registry.js';
export { AccountSeals } from './account-seals.js';
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
export { ApiKeyRegistry, type NewApiKey } from './api-key-registry.js';
export { RedisAccountErasure } from './redis-account-erasure.js';
export { RedisAccountStore } from './redis-account-store.js';
export { RedisApiKeyStore } from './redis-api-key-store.js';
export {
  environmentAccounts,
  openAccountRegistry,
  openAccounts,
  openApiKeyRegistry,
  openApiKeys,
} from './redis-accounts.js';
export { noteEncryptionKey, RedisEncryptionKeys } from './redis-encryption-keys.js';
export { type BrokenSeal, SealTally } from './seal-tally.js';
export { SealBrokenError, SecretBox } from './secret-box.js';
export { type ApiKey, type ApiKeyStore, type StoredApiKey } from './stored-api-key.js';
export { StoredApiKeys } from './stored-api-keys.js';
