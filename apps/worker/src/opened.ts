import type { Logger, RedisClient, WorkerEnvironment } from '#platform';

/** What the process has opened before its modules are put together. */
export interface Opened {
  environment: WorkerEnvironment;
  logger: Logger;
  redis: RedisClient;
}
