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
  connectionErrorOf,
  okOrDegradedReadiness,
  type Readiness,
  createReadiness,
  type Reason,
  redisRefusalOf,
} from '#platform';
import type { WorkerCore } from '../compose.js';
import { CORE } from '../tokens.js';
import { Heartbeat } from './heartbeat.js';

/** Health checks of the worker for orchestrators such as Docker or Kubernetes. */
@Controller('health')
export class HealthController {
  constructor(
    @Inject(Heartbeat) private readonly heartbeat: Pick<Heartbeat, 'isFresh'>,
    @Inject(CORE) private readonly core: Pick<WorkerCore, 'redis' | 'blobStoreMonitor' | 'clock'>,
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
      const refusal = redisRefusalOf(connectionErrorOf(this.core.redis)?.message ?? '');
      const description =
        refusal === undefined
          ? 'the last write to Redis failed, or the worker is stopping'
          : `the worker cannot connect to Redis, which answers ${refusal.word}`;
      const reason: Reason = { code: 'redis_unwritable', count: 1, description, remedy: refusal?.remedy };
      return createReadiness('unavailable', [reason]);
    }
    const reasons: Reason[] = [];
    const { blobStoreMonitor, clock } = this.core;
    if (blobStoreMonitor.fault !== undefined) {
      // The log states the cause. The reply does not: the cause may contain file names.
      const description = 'sends with a file cannot be relayed: the blob store is unusable';
      reasons.push({ code: 'blob_store_unusable', count: 1, description });
    }
    if (blobStoreMonitor.peersWithoutMarker > 0) {
      const description = `sends with a file will fail: ${blobStoreMonitor.peersWithoutMarker} gateways use a different blob store`;
      reasons.push({
        code: 'blob_store_not_shared',
        count: blobStoreMonitor.peersWithoutMarker,
        description,
      });
    }
    if (clock.fault !== undefined) reasons.push({ code: 'clock_off', count: 1, description: clock.fault });
    return okOrDegradedReadiness(reasons);
  }
}

/** Reports that this worker is alive: to the gateway through Redis, to the orchestrator over HTTP. */
@Module({
  controllers: [HealthController],
  providers: [
    {
      provide: Heartbeat,
      inject: [CORE],
      useFactory: ({ redis, environment, instance, logger }: WorkerCore) =>
        new Heartbeat(redis, environment.REDIS_KEY_PREFIX, instance, environment.WORKER_ROLES, logger),
    },
  ],
})
export class HealthModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(@Inject(Heartbeat) private readonly heartbeat: Heartbeat) {}

  onApplicationBootstrap(): void {
    this.heartbeat.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.heartbeat.stop();
  }
}
