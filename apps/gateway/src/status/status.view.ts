import { ApiProperty } from '@nestjs/swagger';
import { SEND_STATUSES, type SendsOverview } from '#relay';
import type { DeliveriesOverview } from '#webhooks';
import { FullReadyView } from '../health/ready.view.js';
import { PollerStatusView } from './poller-status.view.js';

class UpstreamStatusView {
  @ApiProperty({ enum: ['up', 'down'] }) state!: 'up' | 'down';
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) since!: string | null;
  @ApiProperty({ type: String, nullable: true, example: 'upstream answered 503' }) reason!: string | null;
}

class LanesView {
  @ApiProperty({ type: 'integer', description: 'Recipients with sends that are queued or relaying.' })
  count!: number;
  @ApiProperty({ type: 'integer', description: 'Of these, how many have something to do now.' }) due!: number;
  @ApiProperty({ type: 'integer', description: 'The most sends that wait for one recipient.' })
  deepest!: number;
}

class SendsStatusView implements SendsOverview {
  @ApiProperty({
    type: 'object',
    properties: Object.fromEntries(SEND_STATUSES.map((status) => [status, { type: 'integer' }])),
    description: 'How many sends stand so.',
  })
  counts!: SendsOverview['counts'];

  @ApiProperty({ type: LanesView }) lanes!: LanesView;
  @ApiProperty({
    type: 'integer',
    description: 'For how long the first of the queued and relaying sends has waited, in milliseconds.',
  })
  oldestQueuedMs!: number;
}

class DeliveryCountsView {
  @ApiProperty({ type: 'integer' }) pending!: number;
  @ApiProperty({ type: 'integer' }) succeeded!: number;
  @ApiProperty({ type: 'integer' }) failed!: number;
}

class EndpointCountsView {
  @ApiProperty({ type: 'integer' }) count!: number;
  @ApiProperty({ type: 'integer' }) disabled!: number;
  @ApiProperty({ type: 'integer', description: 'Those that have something due, whatever keeps it waiting.' })
  due!: number;
}

class DeliveriesStatusView implements DeliveriesOverview {
  @ApiProperty({ type: DeliveryCountsView, description: 'Deliveries that are kept, by status.' })
  counts!: DeliveriesOverview['counts'];

  @ApiProperty({ type: EndpointCountsView, description: 'Webhooks.' })
  endpoints!: DeliveriesOverview['endpoints'];

  @ApiProperty({
    type: 'integer',
    description: 'For how long the first of the deliveries that are due has waited, in milliseconds.',
  })
  oldestDueMs!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'For how long the first event of which no deliveries were made yet has been in the log, in milliseconds.',
  })
  dispatchLagMs!: number;
}

export class StatusView {
  @ApiProperty({ example: 'default' }) account!: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When this installation began: with the first event log on this Redis.',
  })
  installedAt!: string | null;

  @ApiProperty({
    type: FullReadyView,
    description: 'As `/health/ready` shows it, but of the accounts only those that the key may know of.',
  })
  readiness!: FullReadyView;

  @ApiProperty({ type: UpstreamStatusView }) upstream!: UpstreamStatusView;
  @ApiProperty({ type: SendsStatusView }) sends!: SendsStatusView;
  @ApiProperty({ type: PollerStatusView }) poller!: PollerStatusView;
  @ApiProperty({ type: DeliveriesStatusView }) deliveries!: DeliveriesStatusView;
}
