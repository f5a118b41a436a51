import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiSecurity, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKeyAuthenticator } from '#accounts';
import { METRICS_UNAUTHORIZED_MESSAGE, MetricsAuthorizer, type PromMetrics } from '#metrics';
import type { GatewayEnvironment } from '#platform';
import { ApiKeyUseRecorder } from '../auth/api-key-use-recorder.js';
import { Public } from '../auth/require-scope.js';
import { ApiPublicProblems } from '../problems/api-problems.js';
import { Problem } from '../problems/problem.js';
import { API_KEYS, ENVIRONMENT, METRICS } from '../tokens.js';
import { StateMetrics } from './state-metrics.js';

/** Serves the metrics of this gateway and of the installation. */
@ApiTags('Health')
@ApiSecurity({})
@Controller('metrics')
export class MetricsController {
  private readonly authorization: MetricsAuthorizer;

  constructor(
    @Inject(METRICS) private readonly metrics: PromMetrics,
    @Inject(StateMetrics) private readonly state: StateMetrics,
    @Inject(ENVIRONMENT) environment: GatewayEnvironment,
    @Inject(API_KEYS) keys: ApiKeyAuthenticator,
    @Inject(ApiKeyUseRecorder) uses: Pick<ApiKeyUseRecorder, 'note'>,
  ) {
    this.authorization = new MetricsAuthorizer(environment, {
      authenticate: async (key) => {
        const caller = await keys.authenticate(key);
        if (caller !== undefined) uses.note(caller.keyId);
        return caller;
      },
    });
  }

  @Get()
  @Public()
  @ApiOperation({
    operationId: 'getMetrics',
    summary: 'Get metrics in the text format of Prometheus',
    description:
      'The metrics of requests, of commands to Redis and of the Node.js process, and all counters, cover only the gateway process that answers. The gauges of sends, polls, events, deliveries, workers and Redis describe the whole installation. A request must come from a network in `METRICS_ALLOW_NETWORKS` without a proxy, or contain the value of `METRICS_TOKEN` as a bearer token, or an API key with the scope `admin`.',
  })
  @ApiOkResponse({
    description:
      'The metrics of this gateway process and of the whole installation, in the text format of Prometheus.',
    content: { 'text/plain': { schema: { type: 'string' } } },
  })
  @ApiPublicProblems('unauthenticated')
  async get(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { headers, socket } = request;
    if (!(await this.authorization.mayRead({ address: socket.remoteAddress, headers })))
      throw new Problem('unauthenticated', METRICS_UNAUTHORIZED_MESSAGE);
    await this.state.refresh();
    const { contentType, text } = await this.metrics.expose();
    await reply.header('cache-control', 'no-store').type(contentType).send(text);
  }
}
