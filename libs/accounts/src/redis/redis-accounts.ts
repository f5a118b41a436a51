import type { Clock, CommonEnvironment, Logger, RedisClient } from '#platform';
import {
  type AccountDirectory,
  type AccountRevision,
  DEFAULT_ACCOUNT_ID,
  FixedAccountDirectory,
} from '../account/account.js';
import { AccountRegistry } from '../account/account-registry.js';
import { CombinedAccountDirectory } from '../account/combined-account-directory.js';
import {
  type ApiKeyAuthenticator,
  ENVIRONMENT_API_KEY_ID,
  InMemoryApiKeyAuthenticator,
  API_KEY_SCOPES,
} from '../api-key/api-key.js';
import { ApiKeyRegistry } from '../api-key/api-key-registry.js';
import { RedisAccountStore } from './redis-account-store.js';
import { RedisApiKeyStore } from './redis-api-key-store.js';
import { SecretCipher } from '../secret/secret-cipher.js';
import { StoredApiKeyAuthenticator } from '../api-key/stored-api-key-authenticator.js';
import { SessionService } from '../session/session-service.js';
import { TokenService } from '../token/token-service.js';
import { RedisSessionStore } from './redis-session-store.js';
import { RedisTokenStore } from './redis-token-store.js';

/**
 * Returns the directory of all accounts: the account that the environment variables define, and the accounts in
 * Redis, which all processes share.
 */
export function createAccountDirectory(
  environment: CommonEnvironment,
  redis: RedisClient,
  logger: Logger,
): AccountDirectory & AccountRevision {
  return new CombinedAccountDirectory(
    createAccountDirectoryFromEnvironment(environment),
    new RedisAccountStore(redis, environment.REDIS_KEY_PREFIX),
    new SecretCipher(environment.ENCRYPTION_KEY, environment.ENCRYPTION_KEYS_PREVIOUS),
    (account, error) => {
      logger.error(
        { account, err: error },
        'the account is ignored, because its upstream API key cannot be decrypted',
      );
    },
  );
}

/** Returns the registry through which accounts are created, changed and removed. */
export function createAccountRegistry(
  environment: CommonEnvironment,
  redis: RedisClient,
  clock: Clock,
): AccountRegistry {
  return new AccountRegistry(
    createAccountDirectoryFromEnvironment(environment),
    new RedisAccountStore(redis, environment.REDIS_KEY_PREFIX),
    new SecretCipher(environment.ENCRYPTION_KEY, environment.ENCRYPTION_KEYS_PREVIOUS),
    clock,
  );
}

/**
 * Returns an object that authenticates callers by their API keys: the API key of the environment variable `API_KEY`,
 * which is set only for gateways, and the API keys in Redis, which all processes share.
 */
export function createApiKeyAuthenticator(
  environment: KeyEnvironment,
  redis: RedisClient,
): ApiKeyAuthenticator {
  return new StoredApiKeyAuthenticator(
    environmentApiKeys(environment),
    new RedisApiKeyStore(redis, environment.REDIS_KEY_PREFIX),
  );
}

/** Returns an object that creates, authenticates and revokes tokens. All gateways share the tokens through Redis. */
export function createTokenService(environment: KeyEnvironment, redis: RedisClient): TokenService {
  return new TokenService(
    environmentApiKeys(environment),
    new RedisTokenStore(redis, environment.REDIS_KEY_PREFIX),
  );
}

/**
 * Returns an object that creates, authenticates and ends sessions of the web console. All gateways share the sessions
 * through Redis.
 */
export function createSessionService(environment: KeyEnvironment, redis: RedisClient): SessionService {
  return new SessionService(
    environmentApiKeys(environment),
    new RedisSessionStore(redis, environment.REDIS_KEY_PREFIX),
  );
}

type KeyEnvironment = CommonEnvironment & { API_KEY?: string };

function environmentApiKeys({ API_KEY: key }: KeyEnvironment): InMemoryApiKeyAuthenticator {
  const fixed = { id: ENVIRONMENT_API_KEY_ID, account: DEFAULT_ACCOUNT_ID, scopes: API_KEY_SCOPES };
  return new InMemoryApiKeyAuthenticator(key === undefined ? [] : [{ ...fixed, key }]);
}

/** Returns the registry through which API keys are created, listed and revoked. */
export function createApiKeyRegistry(
  environment: CommonEnvironment,
  redis: RedisClient,
  clock: Clock,
): ApiKeyRegistry {
  const store = new RedisApiKeyStore(redis, environment.REDIS_KEY_PREFIX);
  return new ApiKeyRegistry(createAccountDirectoryFromEnvironment(environment), store, clock);
}

/** Returns a directory with one account: `default`, which the environment variables define. */
function createAccountDirectoryFromEnvironment(environment: CommonEnvironment): FixedAccountDirectory {
  return new FixedAccountDirectory([
    {
      id: DEFAULT_ACCOUNT_ID,
      baseUrl: environment.UPSTREAM_BASE_URL,
      apiKey: environment.UPSTREAM_API_KEY,
      requestsPerSecond: environment.UPSTREAM_REQUESTS_PER_SECOND,
      polling: true,
    },
  ]);
}
