import { BullModule } from '@nestjs/bullmq';
import type { DynamicModule } from '@nestjs/common';
import { type QueueName, queueRedisKeyPrefix } from '#platform';
import type { WorkerCore } from './compose.js';
import { CORE } from './tokens.js';

/** Time between two checks for jobs whose worker died, in milliseconds. */
export const STALLED_INTERVAL_MS = 10_000;

/**
 * Registers a queue on the worker's Redis connection. A processor's blocking reads use a connection of their
 * own.
 */
export function registerQueue(name: QueueName): DynamicModule {
  return BullModule.registerQueueAsync({
    name,
    inject: [CORE],
    useFactory: ({ redis, environment }: WorkerCore) => ({
      connection: redis,
      prefix: queueRedisKeyPrefix(environment.REDIS_KEY_PREFIX, name),
    }),
  });
}
