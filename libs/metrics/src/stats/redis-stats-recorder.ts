import type { Clock, Logger, RedisClient } from '#platform';
import { createBacklogReader } from './redis-backlog.js';
import { RedisStatsStore } from './redis-stats-store.js';
import { StatsRecorder } from './stats-recorder.js';

/** Creates the recorder of a process, which writes to Redis. The caller stops it before it closes the connection. */
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
