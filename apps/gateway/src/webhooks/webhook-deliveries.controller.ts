import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import {
  type DeliveryManager,
  type EventReplayer,
  MAX_REPLAYED_EVENTS,
  type SingleEventDeliverer,
} from '#webhooks';
import { describeAudit } from '../audit/audit-details.js';
import { Audited } from '../audit/audited.js';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { InputPipe } from '../input/input.pipe.js';
import { notFound } from '../problems/problem.js';
import { DELIVERIES, REPLAYS, REQUESTED_DELIVERIES } from '../tokens.js';
import {
  DeliveriesQuery,
  DeliveriesReply,
  deliveriesReplyOf,
  deliveryQueryOf,
  DeliveryView,
  deliveryViewOf,
  NewDeliveryDto,
  ReplayDto,
  ReplayReply,
  replayRequestOf,
  WHEN_DUE,
} from './deliveries.dto.js';

@ApiTags('Webhooks')
@Controller('v1/webhooks')
export class WebhookDeliveriesController {
  constructor(
    @Inject(DELIVERIES) private readonly deliveries: Pick<DeliveryManager, 'list'>,
    @Inject(REPLAYS) private readonly replays: Pick<EventReplayer, 'start' | 'count'>,
    @Inject(REQUESTED_DELIVERIES) private readonly requested: Pick<SingleEventDeliverer, 'deliver'>,
  ) {}

  @Get(':id/deliveries')
  @RequireScope('webhooks:manage')
  @ApiOperation({
    operationId: 'listDeliveries',
    summary: 'List the deliveries of a webhook, newest first',
    description: 'A delivery is the transfer of one event to one webhook, with its attempts.',
  })
  @ApiOkResponse({ type: DeliveriesReply })
  @ApiProblems('not_found', 'validation_failed')
  async list(
    @Caller() { account }: Principal,
    @Param('id') id: string,
    @Query(new InputPipe(DeliveriesQuery)) query: DeliveriesQuery,
  ): Promise<DeliveriesReply> {
    const page = await this.deliveries.list(account, id, deliveryQueryOf(query));
    if (page === undefined) throw notFound('webhook', id);
    return deliveriesReplyOf(page);
  }

  @Post(':id/deliveries')
  @HttpCode(202)
  @RequireScope('webhooks:manage')
  @ApiOperation({
    operationId: 'deliverEvent',
    summary: 'Deliver an event to a webhook now',
    description:
      'Delivers one stored event, again or for the first time, even if the filter of the webhook does not select it. ' +
      'If the webhook has a finished delivery of the event, this delivery becomes pending and due now, with the ' +
      `full retry schedule. A delivery that is already pending becomes due now, and its retry schedule continues. ${WHEN_DUE} ` +
      'An `ordered` webhook gets the event after the earlier pending events of the same contact.',
  })
  @ApiAcceptedResponse({ type: DeliveryView })
  @ApiProblems('not_found', 'conflict', 'validation_failed', 'malformed_body')
  async deliver(
    @Caller() { account }: Principal,
    @Param('id') id: string,
    @Body(new InputPipe(NewDeliveryDto)) { eventId }: NewDeliveryDto,
  ): Promise<DeliveryView> {
    const requested = await this.requested.deliver(account, id, eventId);
    if (requested.kind === 'unknownEndpoint') throw notFound('webhook', id);
    if (requested.kind === 'unknownEvent') throw notFound('event', eventId);
    return deliveryViewOf(requested.delivery);
  }

  @Post(':id/replay')
  @HttpCode(202)
  @RequireScope('webhooks:manage')
  @Audited('webhook.replayed')
  @ApiOperation({
    operationId: 'replayWebhook',
    summary: 'Deliver past events to a webhook, again or for the first time',
    description:
      `Only events that Tidings still stores can be replayed. One request replays at most ${MAX_REPLAYED_EVENTS.toLocaleString('en-US')} events; use several ` +
      'requests to replay more. If a replay is interrupted, you can send the same request again: an event whose delivery is already pending gets no second delivery. Events that the interrupted replay has already delivered are delivered again only if you replay `all`. With `dryRun`, the deliveries are counted, but nothing is delivered.',
  })
  @ApiAcceptedResponse({ type: ReplayReply })
  @ApiProblems('not_found', 'conflict', 'validation_failed', 'malformed_body')
  async replay(
    @Caller() { account }: Principal,
    @Req() http: FastifyRequest,
    @Param('id') id: string,
    @Body(new InputPipe(ReplayDto)) body: ReplayDto,
  ): Promise<ReplayReply> {
    const request = replayRequestOf(body);
    const count = body.dryRun
      ? await this.replays.count(account, id, request)
      : await this.replays.start(account, id, request);
    if (count === undefined) throw notFound('webhook', id);
    // A dry run changes nothing, so it is no action.
    if (body.dryRun) describeAudit(http, { subjects: [] });
    return { count };
  }
}
