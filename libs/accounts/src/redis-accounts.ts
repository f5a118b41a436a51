import type { CommonEnvironment, Logger, RedisClient } from '#platform';
import { type AccountDirectory, DEFAULT_ACCOUNT, FixedAccounts } from './account.js';
import { Accounts } from './accounts.js';
import { RedisAccountStore } from './redis-account-store.js';
import { SecretBox } from './secret-box.js';

/** The accounts that every process knows: the environment's, and those in Redis. */
export function openAccounts(
  environment: CommonEnvironment,
  redis: RedisClient,
  logger: Logger,
): AccountDirectory {
  const told = new Set<string>();
  return new Accounts(
    environmentAccounts(environment),
    new RedisAccountStore(redis, environment.REDIS_KEY_PREFIX),
    new SecretBox(environment.ENCRYPTION_KEY),
    (account, error) => {
      // The list is read several times a second.
      if (told.has(account)) return;
      told.add(account);
      logger.error({ account, err: error }, 'the account is left out: its key cannot be opened');
    },
  );
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
