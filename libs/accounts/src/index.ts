export { type Account, type AccountDirectory, DEFAULT_ACCOUNT, FixedAccounts } from './account.js';
export { type ApiKeys, FixedApiKeys, type Principal, type Scope, SCOPES } from './api-key.js';
export { SealBrokenError, SecretBox } from './secret-box.js';
