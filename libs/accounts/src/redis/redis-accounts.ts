import type { Clock, CommonEnvironment, Logger, RedisClient } from '#platform';
import {
  type AccountDirectory,
  type AccountStamp,
  DEFAULT_ACCOUNT,
  FixedAccounts,
} from '../account/account.js';
import { AccountRegistry } from '../account/account-registry.js';
import { Accounts } from '../account/accounts.js';
import { type ApiKeys, ENVIRONMENT_KEY, FixedApiKeys, SCOPES } from '../api-key/api-key.js';
import { ApiKeyRegistry } from '../api-key/api-key-registry.js';
import { RedisAccountStore } from './redis-account-store.js';
import { RedisApiKeyStore } from './redis-api-key-store.js';
import { SecretBox } from '../secret/secret-box.js';
import { StoredApiKeys } from '../api-key/stored-api-keys.js';

/** The accounts that every process knows: the environment's, and those in Redis. */
export function openAccounts(
  environment: CommonEnvironment,
  redis: RedisClient,
  logger: Logger,
): AccountDirectory & AccountStamp {
  const told = new Set<string>();
  return new Accounts(
    environmentAccounts(environment),
    new RedisAccountStore(redis, environment.REDIS_KEY_PREFIX),
    new SecretBox(environment.ENCRYPTION_KEY, environment.ENCRYPTION_KEYS_PREVIOUS),
    (account, error) => {
      // The list is read several times a second.
      if (told.has(account)) return;
      told.add(account);
      logger.error(
        { account, err: error },
        'the account is ignored, because its upstream API key cannot be decrypted',
      );
    },
  );
}

/** What manages the accounts. */
export function openAccountRegistry(
  environment: CommonEnvironment,
  redis: RedisClient,
  clock: Clock,
): AccountRegistry {
  return new AccountRegistry(
    environmentAccounts(environment),
    new RedisAccountStore(redis, environment.REDIS_KEY_PREFIX),
    new SecretBox(environment.ENCRYPTION_KEY, environment.ENCRYPTION_KEYS_PREVIOUS),
    clock,
  );
}

/** The API keys that every gateway knows: the environment's, and those in Redis. */
export function openApiKeys(
  environment: CommonEnvironment & { API_KEY: string },
  redis: RedisClient,
): ApiKeys {
  const fixed = { id: ENVIRONMENT_KEY, key: environment.API_KEY, account: DEFAULT_ACCOUNT, scopes: SCOPES };
  const store = new RedisApiKeyStore(redis, environment.REDIS_KEY_PREFIX);
  return new StoredApiKeys(new FixedApiKeys([fixed]), store);
}

/** What manages the API keys. */
export function openApiKeyRegistry(
  environment: CommonEnvironment,
  redis: RedisClient,
  clock: Clock,
): ApiKeyRegistry {
  const store = new RedisApiKeyStore(redis, environment.REDIS_KEY_PREFIX);
  return new ApiKeyRegistry(environmentAccounts(environment), store, clock);
}

/** The account `default`, as the environment describes it. */
export function environmentAccounts(environment: CommonEnvironment): FixedAccounts {
  return new FixedAccounts([
    {
      id: DEFAULT_ACCOUNT,
      baseUrl: environment.UPSTREAM_BASE_URL,
      apiKey: environment.UPSTREAM_API_KEY,
      requestsPerSecond: environment.UPSTREAM_REQUESTS_PER_SECOND,
      polling: true,
    },
  ]);
}
