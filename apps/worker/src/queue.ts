import { BullModule } from '@nestjs/bullmq';
import type { DynamicModule } from '@nestjs/common';
import { type QueueName, queuePrefix, type RedisClient, type WorkerEnvironment } from '#platform';
import { ENVIRONMENT, REDIS } from './tokens.js';

/** How often it is looked whether a running job lost its worker, in milliseconds. */
export const STALLED_INTERVAL_MS = 10_000;

/** Several rounds of a role may run at once: one that waits for upstream must not hold up the others. */
export const ROUNDS_OPTIONS = { concurrency: 4, stalledInterval: STALLED_INTERVAL_MS };

/** A queue on the worker's connection; a processor's blocking reads take a connection of their own. */
export function queueOf(name: QueueName): DynamicModule {
  return BullModule.registerQueueAsync({
    name,
    inject: [REDIS, ENVIRONMENT],
    useFactory: (redis: RedisClient, environment: WorkerEnvironment) => ({
      connection: redis,
      prefix: queuePrefix(environment.REDIS_KEY_PREFIX, name),
    }),
  });
}
