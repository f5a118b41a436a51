import { Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOperation, ApiProperty, ApiTags, ApiSchema } from '@nestjs/swagger';
import type { Principal } from '#accounts';
import type { TestEventSender, StartedTest } from '#webhooks';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { notFound } from '../problems/problem.js';
import { ENDPOINT_TEST } from '../tokens.js';

@ApiSchema({ name: 'StartedTest' })
class TestView implements StartedTest {
  @ApiProperty({ description: 'Id of the `webhook.test` event.' }) eventId!: string;
  @ApiProperty({
    description:
      'Id of the delivery of the `webhook.test` event. Tidings creates the delivery shortly after the response.',
  })
  deliveryId!: string;
}

@ApiTags('Webhooks')
@Controller('v1/webhooks')
export class WebhookTestsController {
  constructor(@Inject(ENDPOINT_TEST) private readonly test: Pick<TestEventSender, 'start'>) {}

  @Post(':id/test')
  @HttpCode(202)
  @RequireScope('webhooks:manage')
  @ApiOperation({
    operationId: 'testWebhook',
    summary: 'Send a test event to a webhook',
    description:
      'Tidings emits a `webhook.test` event and delivers the event to this webhook only. The filters `eventTypes` and `contactIds` of a webhook do not apply to the test event. While the webhook is paused (`pausedUntil`), the test event waits.',
  })
  @ApiAcceptedResponse({ type: TestView })
  @ApiProblems('not_found', 'conflict')
  async start(@Caller() { account }: Principal, @Param('id') id: string): Promise<TestView> {
    const started = await this.test.start(account, id);
    if (started === undefined) throw notFound('webhook', id);
    return started;
  }
}
