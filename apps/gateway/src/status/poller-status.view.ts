import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { VolatileField } from '#feed';

const perSecond = (description: string): MethodDecorator & PropertyDecorator =>
  ApiProperty({ description: `${description} Unit: requests per second.`, example: 10 });
const unknownMs = (description: string): MethodDecorator & PropertyDecorator =>
  ApiProperty({ type: 'integer', nullable: true, description });

@ApiSchema({ name: 'DetectionDelay' })
class DetectionDelayView {
  @unknownMs(
    'Median of the detection delay (the time from a message’s timestamp to its event), in milliseconds. The detection delay is corrected for the difference between the clocks of the messaging service and Tidings. Null if no detection delay was measured.',
  )
  p50Ms!: number | null;

  @unknownMs(
    '95th percentile of the detection delay (the time from a message’s timestamp to its event), in milliseconds. Null if no detection delay was measured. The error of `p50Ms` and `p95Ms` is at most 7.3 %.',
  )
  p95Ms!: number | null;

  @ApiProperty({
    type: 'integer',
    description: 'Number of messages from which the detection delay was computed.',
  })
  count!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'Number of the messages of `count` whose detection delay was estimated from the time between two reads of their contact, because it could not be computed from a timestamp. For example, the timestamp is missing, or is more than a minute ahead of the clock of the messaging service.',
  })
  estimated!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'Number of late messages: messages that were more than 24 hours old when Tidings found them, such as imported messages. `p50Ms` and `p95Ms` do not include late messages.',
  })
  late!: number;

  @ApiProperty({
    type: 'integer',
    description: 'The detection delay is computed from the events of the last `ofLastSeconds` seconds.',
    example: 3600,
  })
  ofLastSeconds!: number;
}

@ApiSchema({ name: 'BudgetStatus' })
class BudgetStatusView {
  @perSecond('Maximum request rate of the account at the messaging service, as configured.')
  requestsPerSecond!: number;
  @perSecond(
    'Current maximum rate of requests to the messaging service. The current maximum rate is lower than the configured maximum for some time after a 429 response, and always if the configured maximum is below 1.25.',
  )
  allowedPerSecond!: number;

  @perSecond('Recent average rate of requests to the messaging service.') usedPerSecond!: number;
  @perSecond(
    'Request rate available for the first request of each poll: the part of `allowedPerSecond` that other requests do not use, but at least a fifth of `allowedPerSecond`.',
  )
  forPollsPerSecond!: number;
}

@ApiSchema({ name: 'DelayForecast' })
class BudgetForecastView {
  @perSecond('Request budget that the forecast of the detection delay assumes.') requestsPerSecond!: number;
  @unknownMs(
    'Expected median detection delay with the request budget `requestsPerSecond`, in milliseconds. Null if there are no contacts, or if no worker has polled yet.',
  )
  p50Ms!: number | null;

  @unknownMs(
    'Expected 95th percentile of the detection delay with the request budget `requestsPerSecond`, in milliseconds. Null if there are no contacts, or if no worker has polled yet.',
  )
  p95Ms!: number | null;
}

@ApiSchema({ name: 'OlderMessageReads' })
class DeepReadsView {
  @ApiProperty({
    type: 'integer',
    description: 'Number of contacts that are due for a deep read, which reads older messages.',
  })
  waiting!: number;
  @ApiProperty({
    type: 'integer',
    description: 'How long the most overdue contact has been due for a deep read, in milliseconds.',
  })
  lagMs!: number;
}

@ApiSchema({ name: 'VolatileField' })
class VolatileFieldView implements VolatileField {
  @ApiProperty({
    enum: ['message', 'contact'],
    description: 'Kind of object that has the volatile field: a message or a contact.',
  })
  of!: VolatileField['of'];

  @ApiProperty({ example: 'attachments' }) field!: string;
  @ApiProperty({
    type: 'integer',
    description: 'Number of contacts for which changes of the field emit no events.',
  })
  contacts!: number;
}

@ApiSchema({ name: 'ContactListFault' })
class ListFaultView {
  @ApiProperty({ example: 'the contact list is too large' }) reason!: string;
  @ApiProperty({ type: String, format: 'date-time' }) since!: string;
}

@ApiSchema({ name: 'PollerStatus' })
export class PollerStatusView {
  @ApiProperty({
    enum: ['ok', 'suspect'],
    description:
      '`suspect`: the messaging service returns far fewer contacts or messages than before. While the state is `suspect`, Tidings emits no events for deleted contacts or messages.',
  })
  state!: 'ok' | 'suspect';

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Time since which `state` has been `suspect`. Null if `state` is `ok`.',
  })
  suspectSince!: string | null;
  @ApiProperty({ type: 'integer', description: 'Number of contacts that Tidings polls.' }) contacts!: number;
  @ApiProperty({ type: 'integer', description: 'Number of contacts that are due to be polled now.' })
  due!: number;
  @ApiProperty({
    type: 'integer',
    description: 'Time since the most overdue contact became due for a poll, in milliseconds.',
  })
  lagMs!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'Minimum time to read every contact once within the limit of requests per second, with one request per contact, in milliseconds. Tidings sweeps all contacts (reads all their messages again) every `POLL_SWEEP_INTERVAL_MS`. A sweep takes at least `sweepMs`, so set `POLL_SWEEP_INTERVAL_MS` to a much longer interval.',
  })
  sweepMs!: number;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description:
      'Time of the last complete read of the contact list that did not look like an outage, according to the clock of the messaging service. While an outage is suspected, the time does not change.',
  })
  listedAt!: string | null;

  @ApiProperty({
    type: ListFaultView,
    nullable: true,
    description: 'Reason and start of the problem if the contact list cannot be read, else null.',
  })
  listFault!: ListFaultView | null;

  @ApiProperty({
    type: 'integer',
    description:
      'Number of messages that could not be parsed or that were skipped. A message is not counted again when it is read again. At most about 20 messages of a contact are counted, and several skipped messages of a contact may count once.',
  })
  unreadable!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'Number of messages that were skipped, because the messaging service returns an error for every page that contains them, or because they are too large. Of one contact, all messages with such an error count as one, and so do all messages that are too large.',
  })
  skipped!: number;

  @ApiProperty({
    type: 'integer',
    description:
      'Number of elements of the last contact list that could not be read as contacts. If such a contact is new, it is not polled; if it is known, changes of its fields emit no events.',
  })
  unreadableContacts!: number;

  @ApiProperty({
    type: [VolatileFieldView],
    description:
      'Volatile fields: fields of messages or contacts that change at nearly every read. The list contains at most 20 fields. Tidings emits no events for changes of a volatile field until the field stops changing at nearly every read.',
  })
  volatileFields!: VolatileFieldView[];

  @ApiProperty({ type: DeepReadsView }) deep!: DeepReadsView;

  @ApiProperty({
    type: DetectionDelayView,
    description: 'Detection delay: time from a message’s timestamp to its event.',
  })
  detectionDelay!: DetectionDelayView;

  @ApiProperty({
    type: BudgetStatusView,
    description: 'Maximum and current rate of requests to the messaging service.',
  })
  budget!: BudgetStatusView;

  @ApiProperty({
    type: [BudgetForecastView],
    description:
      'Expected detection delay with half of the configured request budget, with the whole request budget, and with twice the request budget. The forecast of the detection delay assumes that contacts stay as active as now. The forecast of the detection delay does not include the response time of the messaging service.',
  })
  forecast!: BudgetForecastView[];

  @unknownMs('Value of `POLL_MIN_INTERVAL_MS` at the workers. Null if no worker has polled yet.')
  minIntervalMs!: number | null;

  @unknownMs('Value of `POLL_MAX_INTERVAL_MS` at the workers. Null if no worker has polled yet.')
  maxIntervalMs!: number | null;

  @unknownMs(
    'Longest expected interval between two reads of a contact, in milliseconds. If `longestIntervalMs` exceeds `POLL_MAX_INTERVAL_MS`, the request budget is too small. Null if there are no contacts, or if no worker has polled yet.',
  )
  longestIntervalMs!: number | null;
}
