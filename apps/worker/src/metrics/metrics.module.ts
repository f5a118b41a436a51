import { Controller, Get, Inject, Module, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ApiKeyAuthenticator, createApiKeyAuthenticator } from '#accounts';
import { METRICS_UNAUTHORIZED_MESSAGE, MetricsAuthorizer, type MetricsRequest } from '#metrics';
import { logMessageOf, type RedisClient, withDeadline } from '#platform';
import type { WorkerCore } from '../compose.js';
import { CORE } from '../tokens.js';

/** Time limit for the check of an API key, in milliseconds. */
const KEY_CHECK_MS = 1_000;
/** Time after which a caller should retry if its API key could not be checked, in seconds. */
const RETRY_AFTER_S = 5;

/** Serves the metrics of this worker in the format of Prometheus, to those who may read them. */
@Controller('metrics')
export class MetricsController {
  private readonly access: MetricsAuthorizer;

  constructor(
    @Inject(CORE) private readonly core: Pick<WorkerCore, 'metrics' | 'environment' | 'redis' | 'logger'>,
  ) {
    const { environment, redis } = core;
    this.access = new MetricsAuthorizer(
      environment,
      failFast(createApiKeyAuthenticator(environment, redis), redis),
    );
  }

  @Get()
  async get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { headers, socket } = request;
    reply.header('cache-control', 'no-store');
    const access = await this.accessOf({ address: socket.remoteAddress, headers });
    if (access === 'allowed') {
      const { contentType, text } = await this.core.metrics.all.expose();
      await reply.type(contentType).send(text);
      return;
    }
    const problem = PROBLEMS[access];
    if (access === 'unknown') reply.header('retry-after', RETRY_AFTER_S);
    await reply.status(problem.status).type('application/problem+json').send(JSON.stringify(problem));
  }

  private async accessOf(request: MetricsRequest): Promise<'allowed' | 'refused' | 'unknown'> {
    try {
      return (await this.access.mayRead(request)) ? 'allowed' : 'refused';
    } catch (error) {
      this.core.logger.debug({ reason: logMessageOf(error) }, 'could not check an API key');
      return 'unknown';
    }
  }
}

const PROBLEMS = {
  refused: {
    title: 'Unauthenticated',
    status: 401,
    code: 'unauthenticated',
    detail: METRICS_UNAUTHORIZED_MESSAGE,
  },
  unknown: {
    title: 'The worker is temporarily unavailable',
    status: 503,
    code: 'unavailable',
    detail: 'The API key cannot be checked, because Redis is unavailable. Retry later, or use METRICS_TOKEN.',
  },
} as const;

/**
 * Returns an authenticator that fails at once if Redis is not connected. Other commands of the worker wait for the
 * connection, but the number of requests that wait for this check would have no limit.
 */
function failFast(keys: ApiKeyAuthenticator, redis: Pick<RedisClient, 'status'>): ApiKeyAuthenticator {
  return {
    authenticate: async (key) => {
      if (redis.status !== 'ready') throw new Error('Redis is not connected');
      return withDeadline(keys.authenticate(key), KEY_CHECK_MS, 'the check of an API key');
    },
  };
}

@Module({ controllers: [MetricsController] })
export class MetricsModule {}
