import { ApiProperty } from '@nestjs/swagger';
import type { VolatileField } from '#feed';

const perSecond = (description: string): MethodDecorator & PropertyDecorator =>
  ApiProperty({ description: `${description} Requests per second.`, example: 10 });
const unknownMs = (description: string): MethodDecorator & PropertyDecorator =>
  ApiProperty({ type: 'integer', nullable: true, description });

class DetectionDelayView {
  @unknownMs(
    'Median time from a message’s timestamp to its event, in milliseconds. The difference between upstream’s clock and ours is taken out. Null if there was no message.',
  )
  p50Ms!: number | null;

  @unknownMs('The same for the 95th percentile. Both are accurate to 7.3 %.')
  p95Ms!: number | null;

  @ApiProperty({ type: 'integer', description: 'Number of messages measured.' }) count!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'How many of them have no usable timestamp. Their delay is estimated from the time between two reads of the contact.',
  })
  estimated!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'Messages that were more than 24 hours old when they were found, such as imported ones. They are not included in the percentiles.',
  })
  late!: number;

  @ApiProperty({ type: 'integer', description: 'Length of the measured period, in seconds.', example: 3600 })
  ofLastSeconds!: number;
}

class BudgetStatusView {
  @perSecond('The account’s budget.') requestsPerSecond!: number;
  @perSecond('What may be sent now: less than the budget after upstream answered 429.')
  allowedPerSecond!: number;

  @perSecond('What was sent recently, on average.') usedPerSecond!: number;
  @perSecond('What polling can plan with: what sends and callers leave, and at least a fifth.')
  forPollsPerSecond!: number;
}

class BudgetForecastView {
  @perSecond('A budget.') requestsPerSecond!: number;
  @unknownMs('The median detection delay to expect with it, in milliseconds. Null if there are no contacts.')
  p50Ms!: number | null;

  @unknownMs('The same for the 95th percentile.') p95Ms!: number | null;
}

class DeepReadsView {
  @ApiProperty({ type: 'integer', description: 'Reads of older messages that are due.' }) waiting!: number;
  @ApiProperty({ type: 'integer', description: 'For how long the first has been due, in milliseconds.' })
  lagMs!: number;
}

class VolatileFieldView implements VolatileField {
  @ApiProperty({ enum: ['message', 'contact'], description: 'What it is a field of.' })
  of!: VolatileField['of'];

  @ApiProperty({ example: 'attachments' }) field!: string;
  @ApiProperty({ type: 'integer', description: 'Number of contacts for which it is muted.' })
  contacts!: number;
}

class ListFaultView {
  @ApiProperty({ example: 'the contact list is too large' }) reason!: string;
  @ApiProperty({ type: String, format: 'date-time' }) since!: string;
}

export class PollerStatusView {
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
    type: 'integer',
    description:
      'How long it takes at the least to read every contact once within the budget, one request each, in milliseconds. `POLL_SWEEP_INTERVAL_MS` can be kept only where it is well longer.',
  })
  sweepMs!: number;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the contact list was last read in full, on upstream’s clock.',
  })
  listedAt!: string | null;

  @ApiProperty({
    type: ListFaultView,
    nullable: true,
    description: 'Why the contact list cannot be read, for example because it is too large; null if it can.',
  })
  listFault!: ListFaultView | null;

  @ApiProperty({ type: 'integer', description: 'Messages that could not be read, each counted once.' })
  unreadable!: number;

  @ApiProperty({
    type: 'integer',
    description: 'Messages that were skipped because every page that contains them fails upstream.',
  })
  skipped!: number;

  @ApiProperty({
    type: [VolatileFieldView],
    description:
      'Fields that differ at nearly every read, at most 20. Their changes are not emitted until they settle.',
  })
  volatileFields!: VolatileFieldView[];

  @ApiProperty({ type: DeepReadsView }) deep!: DeepReadsView;

  @ApiProperty({ type: DetectionDelayView, description: 'How late new messages were emitted.' })
  detectionDelay!: DetectionDelayView;

  @ApiProperty({ type: BudgetStatusView, description: 'How the budget of upstream requests is used.' })
  budget!: BudgetStatusView;

  @ApiProperty({
    type: [BudgetForecastView],
    description:
      'The detection delay to expect with half the budget, the current one and twice as much, if contacts stay as active as they are. Upstream’s response time comes on top.',
  })
  forecast!: BudgetForecastView[];

  @unknownMs('`POLL_MIN_INTERVAL_MS` of the workers. Null if none has polled yet.')
  minIntervalMs!: number | null;

  @unknownMs('`POLL_MAX_INTERVAL_MS` of the workers. Null if none has polled yet.')
  maxIntervalMs!: number | null;

  @unknownMs(
    'The longest interval between two reads of a contact that the budget allows. If it is longer than `maxIntervalMs`, the budget is too small for that setting.',
  )
  longestIntervalMs!: number | null;
}
