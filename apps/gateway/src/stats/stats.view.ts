import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { type DelaySeries, STATISTICS_MINUTES, type StatsOfLastHour } from '#metrics';

/** Describes a list with one count per minute. */
const Counts = (description: string): PropertyDecorator =>
  ApiProperty({
    maxItems: STATISTICS_MINUTES,
    type: 'array',
    items: { type: 'integer', minimum: 0 },
    description,
  });

/** Describes a list with one value per minute, or null for minutes in which nothing was measured. */
const Measurements = (description: string): PropertyDecorator =>
  ApiProperty({
    maxItems: STATISTICS_MINUTES,
    type: 'array',
    items: { type: 'integer', minimum: 0, nullable: true },
    description,
  });

@ApiSchema({ name: 'SendStats' })
class SendStatsView {
  @Counts('Sends that callers created.') created!: number[];
  @Counts('Sends that reached the status `accepted`.') accepted!: number[];
  @Counts('Sends that reached the status `sent`.') sent!: number[];
  @Counts('Sends that reached the status `failed`.') failed!: number[];
  @Counts('Sends that reached the status `unknown`.') unknown!: number[];
  @Counts('Sends that reached the status `expired`.') expired!: number[];
}

@ApiSchema({ name: 'EventStats' })
class EventStatsView {
  @Counts('Events of all types, by the minute in which they were recorded.') total!: number[];
  @Counts('Events of the type `message.received`.') received!: number[];
}

@ApiSchema({ name: 'DeliveryStats' })
class DeliveryStatsView {
  @Counts('Deliveries that succeeded.') succeeded!: number[];
  @Counts('Failed attempts of deliveries, whether or not another attempt follows.') failedAttempts!: number[];
  @Counts('Deliveries that reached the status `failed`.') failed!: number[];
}

@ApiSchema({ name: 'DelayStats' })
class DelayStatsView implements DelaySeries {
  @Measurements('Mean of the delays in each minute, in milliseconds.') mean!: (number | null)[];
  @Measurements('Maximum of the delays in each minute, in milliseconds.') max!: (number | null)[];
}

@ApiSchema({ name: 'RequestStats' })
class RequestStatsView {
  @Counts('Requests to the messaging service, by the minute in which they ended.') used!: number[];
  @Counts('Requests to the messaging service that got a 429 response.') throttled!: number[];
  @Counts('Requests to the messaging service that failed for a reason other than 429.') failed!: number[];
  @ApiProperty({ description: 'Number of requests per minute that the request budget allows.' })
  budgetPerMinute!: number;
}

@ApiSchema({ name: 'BacklogStats' })
class BacklogStatsView {
  @Measurements('Number of sends with the status `queued` or `relaying`.') sends!: (number | null)[];
  @Measurements('Number of pending deliveries.') deliveries!: (number | null)[];
}

@ApiSchema({ name: 'Stats' })
export class StatsView implements StatsOfLastHour {
  @ApiProperty({ description: 'Id of the account.', example: 'default' }) account!: string;
  @ApiProperty({
    format: 'date-time',
    description: 'Start of the shown period: the start of the first minute.',
  })
  from!: string;
  @ApiProperty({ format: 'date-time', description: 'End of the shown period: the time of the response.' })
  to!: string;
  @ApiProperty({
    type: 'integer',
    example: 60,
    description: 'Length of the period that each value covers, in seconds.',
  })
  stepSeconds!: number;
  @ApiProperty({
    maxItems: STATISTICS_MINUTES,
    type: 'array',
    items: { type: 'string', format: 'date-time' },
    description:
      'Start of each minute, oldest first. The last entry is the current minute, which is incomplete.',
  })
  minutes!: string[];
  @ApiProperty({ type: SendStatsView }) sends!: SendStatsView;
  @ApiProperty({ type: EventStatsView }) events!: EventStatsView;
  @ApiProperty({ type: DeliveryStatsView }) deliveries!: DeliveryStatsView;
  @ApiProperty({
    type: DelayStatsView,
    description: 'Time from the timestamp of a new message to its event, by the minute of the event.',
  })
  detectionDelayMs!: DelayStatsView;
  @ApiProperty({
    type: DelayStatsView,
    description:
      'Time from an event to its receipt by a webhook, by the minute of the receipt. The delay of a replayed event counts from the time when the event was recorded.',
  })
  deliveryDelayMs!: DelayStatsView;
  @ApiProperty({ type: RequestStatsView }) requests!: RequestStatsView;
  @ApiProperty({
    type: BacklogStatsView,
    description: 'Sends and deliveries that wait, measured about once a minute while the account is in use.',
  })
  backlog!: BacklogStatsView;
}
