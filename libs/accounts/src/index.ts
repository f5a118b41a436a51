/**
 * Manages accounts, API keys, tokens and sessions, which decide who may use the gateway.
 *
 * | folder | contents |
 * |---|---|
 * | `account/` | accounts: create, change, remove |
 * | `api-key/` | API keys: create, authenticate, revoke; their scopes |
 * | `token/`   | tokens of browsers: create, authenticate, revoke |
 * | `audit/`   | the audit log: who did what |
 * | `session/` | sessions of the web console: create, authenticate, end |
 * | `secret/`  | encryption of stored secrets |
 * | `redis/`   | accounts, API keys, tokens, sessions and the ids of encryption keys in Redis |
 */
export {
  type Account,
  ACCOUNT_ID_PATTERN,
  type AccountDirectory,
  AccountNotFoundError,
  type AccountRevision,
  DEFAULT_ACCOUNT_ID,
  FixedAccountDirectory,
} from './account/account.js';
export { AccountConflictError } from './account/account-conflict-error.js';
export { UpstreamApiKeyRequiredError } from './account/upstream-api-key-required-error.js';
export { type AccountChanges, type AccountDescription, AccountRegistry } from './account/account-registry.js';
export { UpstreamApiKeyReencrypter } from './account/upstream-api-key-reencrypter.js';
export {
  accountEncryptionContext,
  type AccountStore,
  MAX_ACCOUNTS,
  type RemovedAccount,
  type StoredAccount,
} from './account/account-store.js';
export { CombinedAccountDirectory } from './account/combined-account-directory.js';
export {
  type ApiKeyAuthenticator,
  type CallerSession,
  ENVIRONMENT_API_KEY_ID,
  InMemoryApiKeyAuthenticator,
  type Principal,
  type Scope,
  API_KEY_SCOPES,
} from './api-key/api-key.js';
export { ApiKeyRegistry, type NewApiKey } from './api-key/api-key-registry.js';
export {
  type AuditEntry,
  type AuditCategory,
  type AuditLog,
  type AuditPage,
  isAuditLogPosition,
} from './audit/audit-log.js';
export { RedisAuditLog } from './redis/redis-audit-log.js';
export { RedisAccountEraser } from './redis/redis-account-eraser.js';
export { RedisAccountStore } from './redis/redis-account-store.js';
export { RedisApiKeyStore } from './redis/redis-api-key-store.js';
export {
  createAccountRegistry,
  createAccountDirectory,
  createApiKeyRegistry,
  createApiKeyAuthenticator,
  createSessionService,
  createTokenService,
} from './redis/redis-accounts.js';
export { registerEncryptionKeyId, RedisEncryptionKeyIds } from './redis/redis-encryption-key-ids.js';
export { type ReencryptionFailure, ReencryptionCounts } from './secret/reencryption-counts.js';
export { SecretDecryptionError, SecretCipher } from './secret/secret-cipher.js';
export {
  type ApiKey,
  type ApiKeyStore,
  type ApiKeyUses,
  type ListedApiKey,
  type StoredApiKey,
} from './api-key/stored-api-key.js';
export { StoredApiKeyAuthenticator } from './api-key/stored-api-key-authenticator.js';
export { RedisRevocations } from './redis/redis-revocations.js';
export { RedisSessionStore } from './redis/redis-session-store.js';
export { RedisTokenStore } from './redis/redis-token-store.js';
export {
  type FoundToken,
  hasTokenFormat,
  MAX_TOKEN_LIFETIME_SECONDS,
  type Revocations,
  type StoredToken,
  TOKEN_SCOPES,
  type TokenScope,
  type TokenStore,
} from './token/token.js';
export { type CreatedToken, type NewToken, TokenService } from './token/token-service.js';
export {
  type FoundSession,
  hasSessionTokenFormat,
  idAndHashOfSession,
  MAX_SESSIONS_PER_API_KEY,
  SESSION_LIMITS,
  type SessionEnds,
  type SessionLimits,
  type SessionStore,
  type SessionTerms,
  type StoredSession,
} from './session/session.js';
export { type OpenSession, type Session, SessionService } from './session/session-service.js';
