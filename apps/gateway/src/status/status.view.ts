import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { SEND_STATUSES, type SendsOverview } from '#relay';
import type { DeliveriesOverview } from '#webhooks';
import { FullReadyView } from '../health/ready.view.js';
import { PollerStatusView } from './poller-status.view.js';

@ApiSchema({ name: 'UpstreamStatus' })
class UpstreamStatusView {
  @ApiProperty({ enum: ['up', 'down'] }) state!: 'up' | 'down';
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) since!: string | null;
  @ApiProperty({ type: String, nullable: true, example: 'upstream answered 503' }) reason!: string | null;
}

@ApiSchema({ name: 'LaneCounts' })
class LanesView {
  @ApiProperty({
    type: 'integer',
    description: 'Number of recipients with sends that have the status `queued` or `relaying`.',
  })
  count!: number;
  @ApiProperty({
    type: 'integer',
    description: 'Number of recipients with sends that are due to be processed now.',
  })
  due!: number;
  @ApiProperty({
    type: 'integer',
    description: 'Number of waiting sends of the recipient with the most waiting sends.',
  })
  deepest!: number;
}

@ApiSchema({ name: 'SendsStatus' })
class SendsStatusView implements SendsOverview {
  @ApiProperty({
    type: 'object',
    properties: Object.fromEntries(SEND_STATUSES.map((status) => [status, { type: 'integer' }])),
    description: 'Number of stored sends by status.',
  })
  counts!: SendsOverview['counts'];

  @ApiProperty({ type: LanesView }) lanes!: LanesView;
  @ApiProperty({
    type: 'integer',
    description:
      'Time since the longest-waiting send became `queued`, in milliseconds, while it is `queued` or `relaying`. 0 if no send waits.',
  })
  oldestQueuedMs!: number;
}

@ApiSchema({ name: 'DeliveryCounts' })
class DeliveryCountsView {
  @ApiProperty({ type: 'integer' }) pending!: number;
  @ApiProperty({ type: 'integer' }) succeeded!: number;
  @ApiProperty({ type: 'integer', description: 'Number of deliveries with the status `failed` or `missed`.' })
  failed!: number;
}

@ApiSchema({ name: 'WebhookCounts' })
class EndpointCountsView {
  @ApiProperty({ type: 'integer' }) count!: number;
  @ApiProperty({ type: 'integer' }) disabled!: number;
  @ApiProperty({
    type: 'integer',
    description:
      'Number of disabled webhooks that Tidings disabled, because their deliveries failed for too long or because the receiver answered 410.',
  })
  disabledByFailure!: number;
  @ApiProperty({ type: 'integer', description: 'Number of webhooks with a delivery that is due.' })
  due!: number;
}

@ApiSchema({ name: 'FailingWebhook' })
class FailingWebhookView {
  @ApiProperty({ example: 'whk_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e' }) webhookId!: string;
  @ApiProperty({
    format: 'date-time',
    description:
      'Time of the first failed attempt to deliver to the webhook after the last successful delivery.',
  })
  since!: string;
}

@ApiSchema({ name: 'ConversationsStatus' })
class ConversationsStatusView {
  @ApiProperty({ type: 'integer', description: 'Number of contacts in the list of conversations.' })
  rows!: number;
  @ApiProperty({
    type: 'integer',
    description:
      'Number of known contacts. The number may exceed `rows`: a contact that was stored while `CONVERSATIONS` was `off`, or by a version of Tidings without conversations, is missing from the list of conversations until Tidings has polled the contact.',
  })
  contacts!: number;
}

@ApiSchema({ name: 'DeliveriesStatus' })
class DeliveriesStatusView implements Omit<DeliveriesOverview, 'failing'> {
  @ApiProperty({
    type: DeliveryCountsView,
    description: 'Number of stored deliveries by status. The count `failed` includes missed deliveries.',
  })
  counts!: DeliveriesOverview['counts'];

  @ApiProperty({
    type: EndpointCountsView,
    description:
      'Numbers of webhooks: all webhooks, disabled webhooks, webhooks that Tidings disabled, and webhooks with a delivery that is due.',
  })
  endpoints!: DeliveriesOverview['endpoints'];

  @ApiProperty({
    type: [FailingWebhookView],
    maxItems: 20,
    description:
      'At most 20 enabled webhooks whose last attempt failed; the webhook that has failed longest comes first.',
  })
  failing!: FailingWebhookView[];

  @ApiProperty({
    type: 'integer',
    description:
      'Time since the most overdue delivery became due for an attempt, in milliseconds. Time in which its webhook was paused or had reached its rate limit does not count. 0 if no delivery is due.',
  })
  oldestDueMs!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'Age of the oldest event that waits in the event log because a webhook has too many pending deliveries, in milliseconds. 0 if no event waits. Before the event log deletes the event, the webhook must catch up.',
  })
  oldestWaitingMs!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'Age of the oldest event for which no deliveries have been created yet, in milliseconds. 0 if there is no such event.',
  })
  dispatchLagMs!: number;
}

@ApiSchema({ name: 'Status' })
export class StatusView {
  @ApiProperty({ example: 'default' }) account!: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description:
      'Time when Tidings created the event log of the account. If Redis lost its data, the time when Tidings created the log again. Null if there is no event log yet.',
  })
  installedAt!: string | null;

  @ApiProperty({
    type: FullReadyView,
    description:
      'Readiness as in `GET /health/ready`. Contains the faults of those accounts that the API key may see.',
  })
  readiness!: FullReadyView;

  @ApiProperty({ type: UpstreamStatusView }) upstream!: UpstreamStatusView;
  @ApiProperty({ type: SendsStatusView }) sends!: SendsStatusView;
  @ApiProperty({ type: PollerStatusView }) poller!: PollerStatusView;
  @ApiProperty({ type: ConversationsStatusView }) conversations!: ConversationsStatusView;
  @ApiProperty({ type: DeliveriesStatusView }) deliveries!: DeliveriesStatusView;
}
