import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post, Res } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Principal } from '#accounts';
import {
  type Endpoint,
  type EndpointHealth,
  type EndpointHealthReader,
  type EndpointRegistry,
  HEALTH_OF_NEW_ENDPOINT,
  MAX_CONTACT_FILTER_BYTES_PER_ACCOUNT,
  MAX_ENDPOINTS_PER_ACCOUNT,
} from '#webhooks';
import { Audited } from '../audit/audited.js';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { givenFields, InputPipe } from '../input/input.pipe.js';
import { notFound } from '../problems/problem.js';
import { isStoreFault } from '../problems/store-fault.js';
import { ENDPOINT_HEALTH, ENDPOINT_REGISTRY } from '../tokens.js';
import {
  ChangeWebhookDto,
  CreatedWebhookView,
  CreateWebhookDto,
  WebhooksReply,
  WebhookView,
} from './webhooks.dto.js';

/** A webhook as the API shows it. */
type Shown = Endpoint & EndpointHealth;

@ApiTags('Webhooks')
@Controller('v1/webhooks')
export class WebhooksController {
  constructor(
    @Inject(ENDPOINT_REGISTRY) private readonly endpoints: EndpointRegistry,
    @Inject(ENDPOINT_HEALTH) private readonly health: EndpointHealthReader,
  ) {}

  @Post()
  @RequireScope('webhooks:manage')
  @Audited('webhook.created')
  @ApiOperation({
    operationId: 'createWebhook',
    summary: 'Create a webhook',
    description:
      `Tidings delivers events to the URL of the webhook. An account has at most ${MAX_ENDPOINTS_PER_ACCOUNT.toLocaleString('en-US')} webhooks. ` +
      `The \`contactIds\` of all webhooks of an account have at most ${MAX_CONTACT_FILTER_BYTES_PER_ACCOUNT / 1_048_576} MiB in total.`,
  })
  @ApiCreatedResponse({
    type: CreatedWebhookView,
    headers: {
      Location: {
        description: 'URL path of the new webhook: `/v1/webhooks/{id}`.',
        schema: { type: 'string' },
      },
    },
  })
  @ApiProblems(
    'validation_failed',
    'malformed_body',
    'payload_too_large',
    'unsupported_media_type',
    'conflict',
  )
  async create(
    @Caller() { account }: Principal,
    @Body(new InputPipe(CreateWebhookDto)) body: CreateWebhookDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Shown & { secret: string }> {
    const { endpoint, secret } = await this.endpoints.create(account, {
      ...givenFields(body),
      url: body.url,
    });
    reply.header('location', `/v1/webhooks/${endpoint.id}`).header('cache-control', 'no-store');
    // The health of the webhook is not read: if that failed, the caller would never get the secret of the stored
    // webhook.
    return { ...endpoint, ...HEALTH_OF_NEW_ENDPOINT, secret };
  }

  @Get()
  @RequireScope('webhooks:manage')
  @ApiOperation({
    operationId: 'listWebhooks',
    summary: 'List all webhooks',
    description: 'The webhooks of the account, oldest first.',
  })
  @ApiOkResponse({ type: WebhooksReply })
  @ApiProblems()
  async list(@Caller() { account }: Principal): Promise<{ webhooks: Shown[] }> {
    return { webhooks: await this.viewsOf(account, await this.endpoints.list(account)) };
  }

  @Get(':id')
  @RequireScope('webhooks:manage')
  @ApiOperation({
    operationId: 'getWebhook',
    summary: 'Get a webhook',
    description:
      'Returns the settings of the webhook and the state of its deliveries: how many are pending, when a delivery last succeeded, since when attempts have failed, and until when the webhook is paused.',
  })
  @ApiOkResponse({ type: WebhookView })
  @ApiProblems('not_found')
  async get(@Caller() { account }: Principal, @Param('id') id: string): Promise<Shown> {
    const endpoint = await this.endpoints.find(account, id);
    if (endpoint === undefined) throw notFound('webhook', id);
    return await this.viewOf(account, endpoint);
  }

  @Patch(':id')
  @RequireScope('webhooks:manage')
  @Audited('webhook.changed')
  @ApiOperation({
    operationId: 'changeWebhook',
    summary: 'Update a webhook',
    description:
      'Fields that the request omits keep their current values. The value null resets `eventTypes`, `contactIds`, `description`, `headers`, `maxConcurrency` or `rateLimitPerSecond` to its default. A request that contains `enabled` clears `disabledReason`, whatever the value of `enabled` is.',
  })
  @ApiOkResponse({ type: WebhookView })
  @ApiProblems('not_found', 'validation_failed', 'malformed_body', 'unsupported_media_type', 'conflict')
  async change(
    @Caller() { account }: Principal,
    @Param('id') id: string,
    @Body(new InputPipe(ChangeWebhookDto, { keepsNull: true })) body: ChangeWebhookDto,
  ): Promise<Shown> {
    const [healthBefore = HEALTH_OF_NEW_ENDPOINT] = await this.health.read(account, [id]);
    const endpoint = await this.endpoints.change(account, id, givenFields(body));
    if (endpoint === undefined) throw notFound('webhook', id);
    try {
      return await this.viewOf(account, endpoint);
    } catch (error) {
      if (!isStoreFault(error)) throw error;
      // The change is stored, so the caller must not get an error.
      return { ...endpoint, ...healthBefore };
    }
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('webhooks:manage')
  @Audited('webhook.removed')
  @ApiOperation({
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook and cancel its pending deliveries',
    description:
      'Requests that Tidings has already started to send to the webhook are completed. Deliveries of the webhook can no longer be listed.',
  })
  @ApiNoContentResponse()
  @ApiProblems('not_found')
  async remove(@Caller() { account }: Principal, @Param('id') id: string): Promise<void> {
    if (!(await this.endpoints.remove(account, id))) throw notFound('webhook', id);
  }

  private async viewOf(account: string, endpoint: Endpoint): Promise<Shown> {
    const [view] = await this.viewsOf(account, [endpoint]);
    if (view === undefined)
      throw new Error(`could not read the delivery state of the webhook ${endpoint.id}`);
    return view;
  }

  private async viewsOf(account: string, endpoints: readonly Endpoint[]): Promise<Shown[]> {
    const health = await this.health.read(
      account,
      endpoints.map(({ id }) => id),
    );
    return health.flatMap((own, i) => {
      const endpoint = endpoints[i];
      return endpoint === undefined ? [] : [{ ...endpoint, ...own }];
    });
  }
}
