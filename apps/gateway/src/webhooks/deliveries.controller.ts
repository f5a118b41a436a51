import { Controller, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Principal } from '#accounts';
import type { Deliveries } from '#webhooks';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { notFound } from '../problems/problem.js';
import { DELIVERIES } from '../tokens.js';
import { DeliveryView, deliveryViewOf } from './deliveries.dto.js';

@ApiTags('Webhooks')
@Controller('v1/deliveries')
export class DeliveriesController {
  constructor(@Inject(DELIVERIES) private readonly deliveries: Pick<Deliveries, 'find' | 'retry'>) {}

  @Get(':id')
  @RequireScope('webhooks:manage')
  @ApiOperation({
    operationId: 'getDelivery',
    summary: 'One event on its way to one webhook, with every attempt',
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
    summary: 'Try a delivery now',
    description:
      'One that failed or succeeded is pending then: tried at once, and on the whole schedule if that fails. One that is ' +
      'pending is tried before its time, and its schedule goes on.',
  })
  @ApiAcceptedResponse({ type: DeliveryView })
  @ApiProblems('not_found', 'conflict')
  async retry(@Caller() { account }: Principal, @Param('id') id: string): Promise<DeliveryView> {
    const delivery = await this.deliveries.retry(account, id);
    if (delivery === undefined) throw notFound('delivery', id);
    return deliveryViewOf(delivery);
  }
}
