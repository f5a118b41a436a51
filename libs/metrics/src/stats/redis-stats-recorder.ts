import type { Clock, Logger, RedisClient } from '#platform';
import { createBacklogReader } from './redis-backlog.js';
import { RedisStatsStore } from './redis-stats-store.js';
import { StatsRecorder } from './stats-recorder.js';

/**
 * Creates a recorder that writes this process's counts to Redis. The caller must stop the recorder before closing the
 * connection.
 */
export function openStatsRecorder(
  redis: RedisClient,
  prefix: string,
  clock: Clock,
  logger: Logger,
): StatsRecorder {
  return new StatsRecorder(
    new RedisStatsStore(redis, prefix),
    clock,
    createBacklogReader(redis, prefix),
    logger,
  );
}
