import { Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import type { Principal } from '#accounts';
import type { EndpointTest, TestStarted } from '#webhooks';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { notFound } from '../problems/problem.js';
import { ENDPOINT_TEST } from '../tokens.js';

class TestView implements TestStarted {
  @ApiProperty({ description: 'The event `webhook.test`.' }) eventId!: string;
  @ApiProperty({ description: 'Its delivery, which is there a moment later.' }) deliveryId!: string;
}

@ApiTags('Webhooks')
@Controller('v1/webhooks')
export class WebhookTestsController {
  constructor(@Inject(ENDPOINT_TEST) private readonly test: Pick<EndpointTest, 'start'>) {}

  @Post(':id/test')
  @HttpCode(202)
  @RequireScope('webhooks:manage')
  @ApiOperation({
    operationId: 'testWebhook',
    summary: 'Have a `webhook.test` delivered to this webhook alone',
    description: 'Whatever its eventTypes and contactIds are.',
  })
  @ApiAcceptedResponse({ type: TestView })
  @ApiProblems('not_found', 'conflict')
  async start(@Caller() { account }: Principal, @Param('id') id: string): Promise<TestView> {
    const started = await this.test.start(account, id);
    if (started === undefined) throw notFound('webhook', id);
    return started;
  }
}
