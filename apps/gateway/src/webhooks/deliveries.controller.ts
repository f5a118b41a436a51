import { Controller, Get, HttpCode, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Principal } from '#accounts';
import type { DeliveryManager } from '#webhooks';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { InputPipe } from '../input/input.pipe.js';
import { ApiProblems } from '../problems/api-problems.js';
import { notFound } from '../problems/problem.js';
import { DELIVERIES } from '../tokens.js';
import {
  AllDeliveriesQuery,
  DeliveriesReply,
  deliveriesReplyOf,
  deliveryQueryOf,
  DeliveryView,
  deliveryViewOf,
  WHEN_DUE,
} from './deliveries.dto.js';

@ApiTags('Webhooks')
@Controller('v1/deliveries')
export class DeliveriesController {
  constructor(
    @Inject(DELIVERIES)
    private readonly deliveries: Pick<DeliveryManager, 'find' | 'list' | 'listAll' | 'retry'>,
  ) {}

  @Get()
  @RequireScope('webhooks:manage')
  @ApiOperation({
    operationId: 'listAllDeliveries',
    summary: 'List the deliveries of all webhooks, newest first',
    description:
      'Deliveries to deleted webhooks are left out. With `eventId`, the list shows which webhooks got the event, and when.',
  })
  @ApiOkResponse({ type: DeliveriesReply })
  @ApiProblems('not_found', 'validation_failed')
  async list(
    @Caller() { account }: Principal,
    @Query(new InputPipe(AllDeliveriesQuery)) query: AllDeliveriesQuery,
  ): Promise<DeliveriesReply> {
    const { webhookId } = query;
    const page =
      webhookId === undefined
        ? await this.deliveries.listAll(account, deliveryQueryOf(query))
        : await this.deliveries.list(account, webhookId, deliveryQueryOf(query));
    if (page === undefined) throw notFound('webhook', webhookId ?? '');
    return deliveriesReplyOf(page);
  }

  @Get(':id')
  @RequireScope('webhooks:manage')
  @ApiOperation({
    operationId: 'getDelivery',
    summary: 'Get a delivery with its attempts',
    description: 'A delivery is the transfer of one event to one webhook.',
  })
  @ApiOkResponse({ type: DeliveryView })
  @ApiProblems('not_found')
  async get(@Caller() { account }: Principal, @Param('id') id: string): Promise<DeliveryView> {
    const delivery = await this.deliveries.find(account, id);
    if (delivery === undefined) throw notFound('delivery', id);
    return deliveryViewOf(delivery);
  }

  @Post(':id/retry')
  @HttpCode(202)
  @RequireScope('webhooks:manage')
  @ApiOperation({
    operationId: 'retryDelivery',
    summary: 'Retry a delivery now',
    description:
      'A retry makes a finished delivery pending and due now, and starts its retry schedule again. ' +
      `A delivery that is already pending becomes due now, and its retry schedule continues. ${WHEN_DUE} ` +
      'A retry during an attempt changes nothing.',
  })
  @ApiAcceptedResponse({ type: DeliveryView })
  @ApiProblems('not_found', 'conflict')
  async retry(@Caller() { account }: Principal, @Param('id') id: string): Promise<DeliveryView> {
    const delivery = await this.deliveries.retry(account, id);
    if (delivery === undefined) throw notFound('delivery', id);
    return deliveryViewOf(delivery);
  }
}
