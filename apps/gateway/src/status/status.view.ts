import { ApiProperty } from '@nestjs/swagger';
import { SEND_STATUSES, type SendsOverview } from '#relay';

class UpstreamStatusView {
  @ApiProperty({ enum: ['up', 'down'] }) state!: 'up' | 'down';
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) since!: string | null;
  @ApiProperty({ type: String, nullable: true, example: 'upstream answered 503' }) reason!: string | null;
}

class PollerStatusView {
  @ApiProperty({
    enum: ['ok', 'suspect'],
    description: 'suspect: upstream shows far less than before, and nothing is reported as deleted.',
  })
  state!: 'ok' | 'suspect';

  @ApiProperty({ type: String, format: 'date-time', nullable: true }) suspectSince!: string | null;
  @ApiProperty({ type: 'integer', description: 'Contacts that are polled.' }) contacts!: number;
  @ApiProperty({ type: 'integer', description: 'Of these, how many are due now.' }) due!: number;
  @ApiProperty({ type: 'integer', description: 'For how long the first has been due, in milliseconds.' })
  lagMs!: number;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the contact list was last read in full, on upstream’s clock.',
  })
  listedAt!: string | null;

  @ApiProperty({ type: 'integer', description: 'Messages that could not be read, each counted once.' })
  unreadable!: number;
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

export class StatusView {
  @ApiProperty({ example: 'default' }) account!: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When this installation began: with the first event log on this Redis.',
  })
  installedAt!: string | null;

  @ApiProperty({ type: UpstreamStatusView }) upstream!: UpstreamStatusView;
  @ApiProperty({ type: SendsStatusView }) sends!: SendsStatusView;
  @ApiProperty({ type: PollerStatusView }) poller!: PollerStatusView;
}
