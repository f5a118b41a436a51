import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { EVENT_TYPES, type EventType, isEventTypePattern } from '#events';
import type {
  Attempt,
  Delivery,
  DeliveryPage,
  DeliveryQuery,
  DeliveryStatus,
  ReplayRequest,
  ReplayScope,
} from '#webhooks';
import { formatPlace, parsePlace } from '../input/place.js';
import { Instant, ListOf, Optional, parseInstant, rule, WholeNumberText } from '../input/rules.js';
import { invalid } from '../problems/problem.js';

const STATUSES = ['pending', 'succeeded', 'failed', 'missed'] as const satisfies readonly DeliveryStatus[];
const SCOPES = ['failed', 'missed', 'pending', 'all'] as const satisfies readonly ReplayScope[];
const PLACES = 'deliveries';

export class DeliveriesQuery {
  @ApiPropertyOptional({
    enum: STATUSES,
    description:
      'A page of `failed` or `missed` may hold fewer than `limit` deliveries and still have a `next`.',
  })
  @Optional()
  @rule('status', `must be one of ${STATUSES.join(', ')}`, (value) =>
    STATUSES.some((status) => status === value),
  )
  status?: DeliveryStatus;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 20 })
  @Optional()
  @WholeNumberText(1, 100)
  limit: string = '20';

  @ApiPropertyOptional({ type: 'string', description: 'The `next` of an earlier answer.' })
  @Optional()
  @rule(
    'cursor',
    'must be a cursor that an earlier answer gave',
    (value) => parsePlace(PLACES, value) !== undefined,
  )
  cursor?: string;
}

/** What a query asks for. */
export function deliveryQueryOf({ status, limit, cursor }: DeliveriesQuery): DeliveryQuery {
  const before = parsePlace(PLACES, cursor);
  return {
    limit: Number(limit),
    ...(status === undefined ? {} : { status }),
    ...(before === undefined ? {} : { before }),
  };
}

class AttemptView implements Attempt {
  @ApiProperty({ format: 'date-time' }) at!: string;
  @ApiProperty({ type: 'integer' }) durationMs!: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Null where no reply came.' })
  statusCode!: number | null;
  @ApiProperty({ description: 'The first KB of the reply.' }) reply!: string;
  @ApiProperty({ type: 'string', nullable: true, description: 'Why the exchange failed.' })
  error!: string | null;
}

/** Documents a {@link Delivery}. */
export class DeliveryView implements Omit<Delivery, 'endpointId'> {
  @ApiProperty({ example: 'dlv_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e' }) id!: string;
  @ApiProperty() webhookId!: string;
  @ApiProperty() eventId!: string;
  @ApiProperty({ enum: EVENT_TYPES }) eventType!: EventType;
  @ApiProperty({ type: 'string', nullable: true }) contactId!: string | null;
  @ApiProperty({
    enum: STATUSES,
    description:
      '`missed`: the webhook was disabled, or the event was no longer kept. `POST /v1/webhooks/{id}/replay` with ' +
      '`only: missed` delivers what is still kept.',
  })
  status!: DeliveryStatus;
  @ApiProperty({ type: 'string', nullable: true, description: 'Why it failed for good.' })
  reason!: string | null;
  @ApiProperty({ type: [AttemptView], description: 'The newest hundred, oldest first.' })
  attempts!: AttemptView[];
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'Null while an attempt is under way and after the last.',
  })
  nextAttemptAt!: string | null;
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) finishedAt!: string | null;
}

export function deliveryViewOf({ id, endpointId, ...rest }: Delivery): DeliveryView {
  return { id, webhookId: endpointId, ...rest };
}

export class DeliveriesReply {
  @ApiProperty({ type: [DeliveryView], description: 'The newest first.' }) deliveries!: DeliveryView[];
  @ApiProperty({ type: 'string', nullable: true, description: 'Where to read on; null at the end.' })
  next!: string | null;
  @ApiProperty() hasMore!: boolean;
}

export function deliveriesReplyOf({ deliveries, next }: DeliveryPage): DeliveriesReply {
  return {
    deliveries: deliveries.map(deliveryViewOf),
    next: next === undefined ? null : formatPlace(PLACES, next),
    hasMore: next !== undefined,
  };
}

export class ReplayDto {
  @ApiProperty({ format: 'date-time', description: 'Events from then on.' })
  @Instant()
  since!: string;

  @ApiPropertyOptional({ format: 'date-time', description: 'Events before then. Left out: up to now.' })
  @Optional()
  @Instant()
  until?: string;

  @ApiPropertyOptional({
    type: [String],
    example: ['message.*'],
    description: 'Of these alone. Left out: all that the webhook asks for.',
  })
  @Optional()
  @ListOf('event types or patterns such as message.*', 50, isEventTypePattern)
  eventTypes?: string[];

  @ApiPropertyOptional({
    enum: SCOPES,
    default: 'failed',
    description:
      '`failed`: whose delivery failed. `missed`: from while the webhook was disabled, before it existed, ' +
      'or above the bound of its backlog. `pending`: ' +
      'whose delivery waits for its next attempt, which is made now. `all`: all but those that are pending, delivered ' +
      'or not.',
  })
  @Optional()
  @rule('only', `must be one of ${SCOPES.join(', ')}`, (value) => SCOPES.some((scope) => scope === value))
  only: ReplayScope = 'failed';
}

/**
 * What is to be replayed.
 * @throws {Problem} for a window that ends before it begins
 */
export function replayRequestOf({ since, until, eventTypes, only }: ReplayDto): ReplayRequest {
  const from = parseInstant(since) ?? 0;
  const to = parseInstant(until) ?? Infinity;
  if (to <= from) throw invalid({ field: 'until', message: 'must be later than since' });
  return { since: from, until: to, only, ...(eventTypes === undefined ? {} : { eventTypes }) };
}

export class ReplayReply {
  @ApiProperty({ type: 'integer', description: 'How many deliveries became pending, or due now.' })
  count!: number;
}
