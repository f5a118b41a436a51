import { ApiProperty } from '@nestjs/swagger';
import type { VolatileField } from '#feed';

const perSecond = (description: string): MethodDecorator & PropertyDecorator =>
  ApiProperty({ description: `${description} Requests per second.`, example: 10 });
const unknownMs = (description: string): MethodDecorator & PropertyDecorator =>
  ApiProperty({ type: 'integer', nullable: true, description });

class DetectionDelayView {
  @unknownMs(
    'Median time from a message’s timestamp to its event, in milliseconds. The difference between the clocks of upstream and Tidings is subtracted. Null if there was no message.',
  )
  p50Ms!: number | null;

  @unknownMs(
    '95th percentile of the time from a message’s timestamp to its event, in milliseconds. `p50Ms` and `p95Ms` are accurate to 7.3 %.',
  )
  p95Ms!: number | null;

  @ApiProperty({ type: 'integer', description: 'Number of messages that were measured.' }) count!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'Number of measured messages without a usable timestamp. The delay of such a message is estimated from the time between two reads of its contact.',
  })
  estimated!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'Number of messages that were more than 24 hours old when Tidings found them, such as imported messages. The percentiles do not include such old messages.',
  })
  late!: number;

  @ApiProperty({ type: 'integer', description: 'Length of the measured period, in seconds.', example: 3600 })
  ofLastSeconds!: number;
}

class BudgetStatusView {
  @perSecond('Request budget of the account.') requestsPerSecond!: number;
  @perSecond(
    'Current limit of requests to upstream, which is lower than the budget for some time after upstream answered 429.',
  )
  allowedPerSecond!: number;

  @perSecond('Recent average of requests to upstream.') usedPerSecond!: number;
  @perSecond(
    'Part of the budget for polling: the part that sends and callers do not use, and at least a fifth.',
  )
  forPollsPerSecond!: number;
}

class BudgetForecastView {
  @perSecond('Request budget of this forecast.') requestsPerSecond!: number;
  @unknownMs(
    'Expected median detection delay with this budget, in milliseconds. Null if there are no contacts.',
  )
  p50Ms!: number | null;

  @unknownMs(
    'Expected 95th percentile of the detection delay with this budget, in milliseconds. Null if there are no contacts.',
  )
  p95Ms!: number | null;
}

class DeepReadsView {
  @ApiProperty({
    type: 'integer',
    description: 'Number of contacts whose older messages are due to be read.',
  })
  waiting!: number;
  @ApiProperty({
    type: 'integer',
    description: 'Time for which the oldest of these reads has been due, in milliseconds.',
  })
  lagMs!: number;
}

class VolatileFieldView implements VolatileField {
  @ApiProperty({ enum: ['message', 'contact'], description: 'Object that has the field.' })
  of!: VolatileField['of'];

  @ApiProperty({ example: 'attachments' }) field!: string;
  @ApiProperty({ type: 'integer', description: 'Number of contacts for which the field is muted.' })
  contacts!: number;
}

class ListFaultView {
  @ApiProperty({ example: 'the contact list is too large' }) reason!: string;
  @ApiProperty({ type: String, format: 'date-time' }) since!: string;
}

export class PollerStatusView {
  @ApiProperty({
    enum: ['ok', 'suspect'],
    description:
      '`suspect`: the messaging service shows far fewer contacts or messages than before. While the state is `suspect`, no deletions are reported.',
  })
  state!: 'ok' | 'suspect';

  @ApiProperty({ type: String, format: 'date-time', nullable: true }) suspectSince!: string | null;
  @ApiProperty({ type: 'integer', description: 'Number of polled contacts.' }) contacts!: number;
  @ApiProperty({ type: 'integer', description: 'Number of contacts that are due to be polled now.' })
  due!: number;
  @ApiProperty({
    type: 'integer',
    description: 'Time for which the longest overdue contact has been due, in milliseconds.',
  })
  lagMs!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'Minimum time to read every contact once within the budget, with one request per contact, in milliseconds. `POLL_SWEEP_INTERVAL_MS` must be much longer to be met.',
  })
  sweepMs!: number;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Time of the last complete read of the contact list, on upstream’s clock.',
  })
  listedAt!: string | null;

  @ApiProperty({
    type: ListFaultView,
    nullable: true,
    description: 'Reason why the contact list cannot be read, or null if the list can be read.',
  })
  listFault!: ListFaultView | null;

  @ApiProperty({
    type: 'integer',
    description: 'Number of messages that could not be parsed. Each message counts once.',
  })
  unreadable!: number;

  @ApiProperty({
    type: 'integer',
    description: 'Number of messages that were skipped because upstream fails for every page with them.',
  })
  skipped!: number;

  @ApiProperty({
    type: [VolatileFieldView],
    description:
      'Fields that change at nearly every read, at most 20. Tidings emits no events for their changes until they become stable.',
  })
  volatileFields!: VolatileFieldView[];

  @ApiProperty({ type: DeepReadsView }) deep!: DeepReadsView;

  @ApiProperty({ type: DetectionDelayView, description: 'Delay between new messages and their events.' })
  detectionDelay!: DetectionDelayView;

  @ApiProperty({ type: BudgetStatusView, description: 'Use of the request budget for upstream.' })
  budget!: BudgetStatusView;

  @ApiProperty({
    type: [BudgetForecastView],
    description:
      'Expected detection delay with half the current budget, with the current budget and with twice the current budget. The forecast assumes that contacts stay as active as now. The forecast does not include upstream’s response time.',
  })
  forecast!: BudgetForecastView[];

  @unknownMs('`POLL_MIN_INTERVAL_MS` of the workers. Null if no worker has polled yet.')
  minIntervalMs!: number | null;

  @unknownMs('`POLL_MAX_INTERVAL_MS` of the workers. Null if no worker has polled yet.')
  maxIntervalMs!: number | null;

  @unknownMs(
    'Longest interval between two reads of a contact with the current budget, in milliseconds. If `longestIntervalMs` is longer than `maxIntervalMs`, the budget is too small for `POLL_MAX_INTERVAL_MS`.',
  )
  longestIntervalMs!: number | null;
}
