import {
  Controller,
  Get,
  HttpCode,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  Res,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import {
  readinessFor,
  type Instance,
  type Logger,
  type Readiness,
  readinessOf,
  type Reason,
  type RedisClient,
  type RedisClock,
  type WorkerEnvironment,
} from '#platform';
import type { BlobStoreWatch } from '#blobs';
import { BLOB_WATCH, CLOCK, ENVIRONMENT, INSTANCE, LOGGER, REDIS } from '../tokens.js';
import { Heartbeat } from './heartbeat.js';

const HEARTBEAT = Symbol('heartbeat');

/** Health checks of the worker for orchestrators such as Docker or Kubernetes. */
@Controller('health')
export class HealthController {
  constructor(
    @Inject(HEARTBEAT) private readonly heartbeat: Heartbeat,
    @Inject(BLOB_WATCH) private readonly blobs: BlobStoreWatch,
    @Inject(CLOCK) private readonly clock: Pick<RedisClock, 'fault'>,
  ) {}

  @Get('live')
  @HttpCode(200)
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('ready')
  ready(@Res({ passthrough: true }) reply: FastifyReply): Readiness {
    if (!this.heartbeat.isFresh()) {
      reply.status(503);
      const description = 'the last write to Redis failed, or the worker is stopping';
      return readinessOf('unavailable', [{ code: 'redis_unwritable', count: 1, description }]);
    }
    const reasons: Reason[] = [];
    if (this.blobs.fault !== undefined) {
      // The log states the cause. The reply does not: the cause may contain file names.
      const description = 'sends with a file cannot be relayed: the blob store is unusable';
      reasons.push({ code: 'blob_store_unusable', count: 1, description });
    }
    if (this.blobs.unseenPeers > 0) {
      const description = `sends with a file will fail: ${this.blobs.unseenPeers} gateways use a different blob store`;
      reasons.push({ code: 'blob_store_not_shared', count: this.blobs.unseenPeers, description });
    }
    if (this.clock.fault !== undefined)
      reasons.push({ code: 'clock_off', count: 1, description: this.clock.fault });
    return readinessFor(reasons);
  }
}

/** Reports that this worker is alive: to the gateway through Redis, to the orchestrator over HTTP. */
@Module({
  controllers: [HealthController],
  providers: [
    {
      provide: HEARTBEAT,
      inject: [REDIS, ENVIRONMENT, INSTANCE, LOGGER],
      useFactory: (redis: RedisClient, environment: WorkerEnvironment, instance: Instance, logger: Logger) =>
        new Heartbeat(redis, environment.REDIS_KEY_PREFIX, instance, environment.WORKER_ROLES, logger),
    },
  ],
})
export class HealthModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(@Inject(HEARTBEAT) private readonly heartbeat: Heartbeat) {}

  onApplicationBootstrap(): void {
    this.heartbeat.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.heartbeat.stop();
  }
}
