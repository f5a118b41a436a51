import { BullModule } from '@nestjs/bullmq';
import type { DynamicModule } from '@nestjs/common';
import { type QueueName, queuePrefix, type RedisClient, type WorkerEnvironment } from '#platform';
import { ENVIRONMENT, REDIS } from './tokens.js';

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
