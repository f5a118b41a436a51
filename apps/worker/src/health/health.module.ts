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
import type { Logger, RedisClient, RedisClock, WorkerEnvironment } from '#platform';
import type { BlobStoreWatch } from '#relay';
import { BLOB_WATCH, CLOCK, ENVIRONMENT, LOGGER, REDIS } from '../tokens.js';
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
  ready(@Res({ passthrough: true }) reply: FastifyReply): {
    status: 'ok' | 'degraded' | 'unavailable';
    reasons: string[];
  } {
    if (this.heartbeat.isFresh()) {
      const files = this.blobs.fault;
      const reasons = [
        ...(files === undefined ? [] : [`sends with a file: ${files}`]),
        ...(this.clock.fault === undefined ? [] : [this.clock.fault]),
      ];
      return { status: reasons.length === 0 ? 'ok' : 'degraded', reasons };
    }
    reply.status(503);
    return {
      status: 'unavailable',
      reasons: ['Redis could not be written lately, or the worker is stopping'],
    };
  }
}

/** Says that this worker is alive: to the gateway through Redis, to its keeper over HTTP. */
@Module({
  controllers: [HealthController],
  providers: [
    {
      provide: HEARTBEAT,
      inject: [REDIS, ENVIRONMENT, LOGGER],
      useFactory: (redis: RedisClient, environment: WorkerEnvironment, logger: Logger) =>
        new Heartbeat(redis, environment.REDIS_KEY_PREFIX, environment.WORKER_ROLES, logger),
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
