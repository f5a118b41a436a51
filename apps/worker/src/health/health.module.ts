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
  degradedBy,
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

/** Answers whoever keeps the worker running. */
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
      const words = 'Redis could not be written lately, or the worker is stopping';
      return readinessOf('unavailable', [{ code: 'redis_unwritable', count: 1, words }]);
    }
    const reasons: Reason[] = [];
    if (this.blobs.fault !== undefined) {
      // Why stands in the log: it may name files.
      const words = 'sends with a file cannot be relayed: the blob store cannot be used';
      reasons.push({ code: 'blob_store_unusable', count: 1, words });
    }
    if (this.blobs.unseen > 0) {
      const words = `sends with a file will fail: ${this.blobs.unseen} of the gateways have another blob store`;
      reasons.push({ code: 'blob_store_not_shared', count: this.blobs.unseen, words });
    }
    if (this.clock.fault !== undefined)
      reasons.push({ code: 'clock_off', count: 1, words: this.clock.fault });
    return degradedBy(reasons);
  }
}

/** Says that this worker is alive: to the gateway through Redis, to its keeper over HTTP. */
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
