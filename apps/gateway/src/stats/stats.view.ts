import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { type DelaySeries, STATISTICS_PERIOD_MINUTES, type StatsOfLastHour } from '#metrics';

/** Describes a list with one count per minute. */
const Counts = (description: string): PropertyDecorator =>
  ApiProperty({
    maxItems: STATISTICS_PERIOD_MINUTES,
    type: 'array',
    items: { type: 'integer', minimum: 0 },
    description,
  });

/** Describes a list with one value per minute, or null for minutes in which nothing was measured. */
const Measurements = (description: string): PropertyDecorator =>
  ApiProperty({
    maxItems: STATISTICS_PERIOD_MINUTES,
    type: 'array',
    items: { type: 'integer', minimum: 0, nullable: true },
    description,
  });

@ApiSchema({ name: 'SendStats' })
class SendStatsView {
  @Counts('Number of sends that callers created in each minute.') created!: number[];
  @Counts('Number of sends that reached the status `accepted` in each minute.') accepted!: number[];
  @Counts('Number of sends that reached the status `sent` in each minute.') sent!: number[];
  @Counts('Number of sends that reached the status `failed` in each minute.') failed!: number[];
  @Counts('Number of sends that reached the status `unknown` in each minute.') unknown!: number[];
  @Counts('Number of sends that reached the status `expired` in each minute.') expired!: number[];
}

@ApiSchema({ name: 'EventStats' })
class EventStatsView {
  @Counts('Number of events that were recorded in each minute.') total!: number[];
  @Counts('Number of events of the type `message.received` that were recorded in each minute.')
  received!: number[];
}

@ApiSchema({ name: 'DeliveryStats' })
class DeliveryStatsView {
  @Counts('Number of deliveries that succeeded in each minute.') succeeded!: number[];
  @Counts('Number of delivery attempts that failed in each minute, whether or not another attempt follows.')
  failedAttempts!: number[];
  @Counts(
    'Number of deliveries in each minute that ended as `failed` directly after a failed attempt. Deliveries that ended while they waited for an attempt, for example because their webhook was disabled or removed, are not counted.',
  )
  failed!: number[];
}

type DelaysByMinute = (number | null)[];

@ApiSchema({ name: 'DelayStats' })
class DelayStatsView implements DelaySeries {
  @Measurements(
    'Mean delay in each minute, in milliseconds: the detection delay in `detectionDelayMs`, the delivery delay in `deliveryDelayMs`.',
  )
  mean!: DelaysByMinute;
  @Measurements(
    'Longest delay in each minute, in milliseconds: the detection delay in `detectionDelayMs`, the delivery delay in `deliveryDelayMs`.',
  )
  max!: DelaysByMinute;
}

@ApiSchema({ name: 'RequestStats' })
class RequestStatsView {
  @Counts('Number of requests to the messaging service that ended in each minute.') used!: number[];
  @Counts('Number of requests to the messaging service that got a 429 response in each minute.')
  throttled!: number[];
  @Counts(
    'Number of requests to the messaging service that failed in each minute for a reason other than 429.',
  )
  failed!: number[];
  @ApiProperty({
    description: 'Maximum number of requests per minute to the messaging service, as configured.',
  })
  budgetPerMinute!: number;
}

@ApiSchema({ name: 'BacklogStats' })
class BacklogStatsView {
  @Measurements(
    'Largest number of sends with the status `queued` or `relaying` that was measured in each minute. The last value is the current number. Null for a minute without a measurement.',
  )
  sends!: (number | null)[];
  @Measurements(
    'Largest number of pending deliveries that was measured in each minute. The last value is the current number. Null for a minute without a measurement.',
  )
  deliveries!: (number | null)[];
}

@ApiSchema({ name: 'Stats' })
export class StatsView implements StatsOfLastHour {
  @ApiProperty({ description: 'Id of the account.', example: 'default' }) account!: string;
  @ApiProperty({
    format: 'date-time',
    description: 'Start of the period that the statistics cover.',
  })
  from!: string;
  @ApiProperty({
    format: 'date-time',
    description: 'End of the period that the statistics cover: the time of the response.',
  })
  to!: string;
  @ApiProperty({
    type: 'integer',
    example: 60,
    description: 'Length of the period that each value covers, in seconds.',
  })
  stepSeconds!: number;
  @ApiProperty({
    maxItems: STATISTICS_PERIOD_MINUTES,
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
    description:
      'Detection delays of new messages, by the minute in which the event of the message was recorded.',
  })
  detectionDelayMs!: DelayStatsView;
  @ApiProperty({
    type: DelayStatsView,
    description:
      'Delivery delays: times from an event to its receipt by a webhook, by the minute of the receipt. The delivery delay of a replayed event is measured from the time when the event was recorded, not from the time of the replay.',
  })
  deliveryDelayMs!: DelayStatsView;
  @ApiProperty({ type: RequestStatsView }) requests!: RequestStatsView;
  @ApiProperty({
    type: BacklogStatsView,
    description:
      'Numbers of waiting sends and deliveries, measured about once a minute while the account is in use.',
  })
  backlog!: BacklogStatsView;
}
