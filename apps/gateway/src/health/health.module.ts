import { Inject, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import {
  type GatewayEnvironment,
  type ProcessInstance,
  heartbeatSetRedisKey,
  type Logger,
  formatProcessInstance,
  type RedisClient,
  RedisHeartbeat,
} from '#platform';
import { ENVIRONMENT, INSTANCE, LOGGER, REDIS } from '../tokens.js';
import { HealthController } from './health.controller.js';
import { RedisReadiness } from './redis-readiness.js';

const HEARTBEAT = Symbol('heartbeat');

/** Serves liveness and readiness, and writes the heartbeat and version of this gateway to Redis for other processes. */
@Module({
  controllers: [HealthController],
  providers: [
    RedisReadiness,
    {
      provide: HEARTBEAT,
      inject: [REDIS, ENVIRONMENT, INSTANCE, LOGGER],
      useFactory: (
        redis: RedisClient,
        environment: GatewayEnvironment,
        instance: ProcessInstance,
        logger: Logger,
      ) => {
        const key = heartbeatSetRedisKey(environment.REDIS_KEY_PREFIX, 'gateways');
        return new RedisHeartbeat(redis, key, formatProcessInstance(instance), logger);
      },
    },
  ],
  exports: [RedisReadiness],
})
export class HealthModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(@Inject(HEARTBEAT) private readonly heartbeat: RedisHeartbeat) {}

  onApplicationBootstrap(): void {
    this.heartbeat.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.heartbeat.stop();
  }
}
