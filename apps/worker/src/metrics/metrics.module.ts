import { Controller, Get, Inject, Module, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createApiKeyAuthenticator } from '#accounts';
import { METRICS_UNAUTHORIZED_MESSAGE, MetricsAuthorizer } from '#metrics';
import type { WorkerCore } from '../compose.js';
import { CORE } from '../tokens.js';

/** Serves the metrics of this worker in the format of Prometheus, to those who may read them. */
@Controller('metrics')
export class MetricsController {
  private readonly access: MetricsAuthorizer;

  constructor(@Inject(CORE) private readonly core: Pick<WorkerCore, 'metrics' | 'environment' | 'redis'>) {
    const { environment, redis } = core;
    this.access = new MetricsAuthorizer(environment, createApiKeyAuthenticator(environment, redis));
  }

  @Get()
  async get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { headers, socket } = request;
    reply.header('cache-control', 'no-store');
    if (await this.access.mayRead({ address: socket.remoteAddress, headers })) {
      const { contentType, text } = await this.core.metrics.all.expose();
      await reply.type(contentType).send(text);
      return;
    }
    const refusal = {
      title: 'Unauthenticated',
      status: 401,
      code: 'unauthenticated',
      detail: METRICS_UNAUTHORIZED_MESSAGE,
    };
    await reply.status(401).type('application/problem+json').send(JSON.stringify(refusal));
  }
}

@Module({ controllers: [MetricsController] })
export class MetricsModule {}
