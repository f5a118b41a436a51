import { ApiProperty, ApiSchema } from '@nestjs/swagger';
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
import { decodePosition, encodePosition } from '../input/position.js';
import { parseInstant } from '../input/instant.js';
import { CursorOf, Flag, Instant, ListOf, OneOf, Optional, TextOf, WholeNumberText } from '../input/rules.js';
import { invalid } from '../problems/problem.js';

const STATUSES = ['pending', 'succeeded', 'failed', 'missed'] as const satisfies readonly DeliveryStatus[];
const SCOPES = ['failed', 'missed', 'pending', 'all'] as const satisfies readonly ReplayScope[];
const LIST_NAME = 'deliveries';

/** Says when a delivery that is due is attempted. */
export const WHEN_DUE =
  'A due delivery is attempted at once, unless the webhook is paused (`pausedUntil`) or has reached its maximum number of simultaneous requests or of requests per second, or `blockedBy` is set.';

export class DeliveriesQuery {
  @ApiProperty({
    description:
      'Returns only deliveries with this status. A page of `failed` or `missed` deliveries may have fewer than `limit` entries even if more pages follow.',
  })
  @Optional()
  @OneOf(STATUSES)
  status?: DeliveryStatus;

  @ApiProperty({ description: 'Returns only deliveries of this event: at most one per webhook.' })
  @Optional()
  @TextOf(100)
  eventId?: string;

  @ApiProperty({ default: 20 })
  @Optional()
  @WholeNumberText(1, 100)
  limit: string = '20';

  @ApiProperty({ type: 'string', description: 'The value of `next` in the previous page.' })
  @Optional()
  @CursorOf(
    'must be the value of `next` from a previous page',
    (value) => decodePosition(LIST_NAME, value) !== undefined,
  )
  cursor?: string;
}

/** Selects deliveries of one webhook or of all webhooks. */
export class AllDeliveriesQuery extends DeliveriesQuery {
  @ApiProperty({
    description:
      'Returns only deliveries that finished at this time or later, and pending deliveries that were created at this time or ' +
      'later. With `since`, a page may have fewer than `limit` entries even if more pages follow.',
  })
  @Optional()
  @Instant()
  since?: string;

  @ApiProperty({ description: 'Returns only deliveries to this webhook.' })
  @Optional()
  @TextOf(100)
  webhookId?: string;
}

/** Converts query parameters to a query of the delivery store. */
export function deliveryQueryOf({
  status,
  eventId,
  limit,
  cursor,
  since,
}: AllDeliveriesQuery): DeliveryQuery {
  const before = decodePosition(LIST_NAME, cursor);
  return {
    limit: Number(limit),
    ...(status === undefined ? {} : { status }),
    ...(eventId === undefined ? {} : { eventId }),
    ...(since === undefined ? {} : { since: parseInstant(since) ?? 0 }),
    ...(before === undefined ? {} : { before }),
  };
}

@ApiSchema({ name: 'DeliveryAttempt' })
class AttemptView implements Attempt {
  @ApiProperty({ format: 'date-time' }) at!: string;
  @ApiProperty({ type: 'integer' }) durationMs!: number;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'HTTP status of the response, or null if there was no response.',
  })
  statusCode!: number | null;
  @ApiProperty({ description: 'First KB of the body of the response. Empty if there was no response.' })
  reply!: string;
  @ApiProperty({
    type: 'string',
    nullable: true,
    description:
      'Reason why no complete response arrived, such as a timeout. Null if the response arrived, or at least the first KB of its body: then `statusCode` shows whether the attempt succeeded.',
  })
  error!: string | null;
}

/** Documents a {@link Delivery}. */
@ApiSchema({ name: 'Delivery' })
export class DeliveryView implements Omit<Delivery, 'endpointId'> {
  @ApiProperty({ example: 'dlv_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e' }) id!: string;
  @ApiProperty() webhookId!: string;
  @ApiProperty() eventId!: string;
  @ApiProperty({ enum: EVENT_TYPES }) eventType!: EventType;
  @ApiProperty({ type: 'string', nullable: true }) contactId!: string | null;
  @ApiProperty({
    enum: STATUSES,
    description: '`missed` means that the event was deleted from the event log before it could be delivered.',
  })
  status!: DeliveryStatus;
  @ApiProperty({
    type: 'string',
    nullable: true,
    description:
      'Reason why the delivery failed or was missed. Null if the delivery is pending or succeeded.',
  })
  reason!: string | null;
  @ApiProperty({ type: [AttemptView], description: 'The latest 100 attempts, oldest first.' })
  attempts!: AttemptView[];
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description:
      'Earliest time of the next attempt, or null during an attempt and after the last attempt. ' +
      'The attempt begins later while the webhook is paused (`pausedUntil`) or has reached its maximum number of simultaneous requests or of requests per second, and while `blockedBy` is set.',
  })
  nextAttemptAt!: string | null;
  @ApiProperty({
    type: 'string',
    nullable: true,
    description:
      'Id of the earlier delivery that must finish before this delivery is attempted, because the webhook is `ordered`. Null if this delivery does not wait for another delivery.',
  })
  blockedBy!: string | null;
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) finishedAt!: string | null;
}

export function deliveryViewOf({ id, endpointId, ...rest }: Delivery): DeliveryView {
  return { id, webhookId: endpointId, ...rest };
}

@ApiSchema({ name: 'DeliveryList' })
export class DeliveriesReply {
  @ApiProperty({ type: [DeliveryView], description: 'The deliveries of the page, newest first.' })
  deliveries!: DeliveryView[];
  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Cursor of the next page, or null on the last page.',
  })
  next!: string | null;
  @ApiProperty({ description: 'True if another page follows.' }) hasMore!: boolean;
}

export function deliveriesReplyOf({ deliveries, next }: DeliveryPage): DeliveriesReply {
  return {
    deliveries: deliveries.map(deliveryViewOf),
    next: next === undefined ? null : encodePosition(LIST_NAME, next),
    hasMore: next !== undefined,
  };
}

@ApiSchema({ name: 'NewReplay' })
export class ReplayDto {
  @ApiProperty({ description: 'Replays events from this time on.' })
  @Instant()
  since!: string;

  @ApiProperty({
    description: 'Replays events before this time. By default, events up to now are replayed.',
  })
  @Optional()
  @Instant()
  until?: string;

  @ApiProperty({
    example: ['message.*'],
    description: 'Event types to replay. By default, all event types of the webhook are replayed.',
  })
  @Optional()
  @ListOf('event types or patterns such as message.*', 50, { holds: isEventTypePattern })
  eventTypes?: string[];

  @ApiProperty({
    default: 'failed',
    description:
      'Selects the events to replay. `failed` selects events whose delivery failed. `missed` selects events that were recorded before ' +
      'the webhook existed, while it was disabled, or while it had too many pending deliveries. `pending` selects ' +
      'events whose delivery waits for its next attempt; the replay makes the delivery due now. `all` selects all events ' +
      'except those with a pending delivery.',
  })
  @Optional()
  @OneOf(SCOPES)
  only: ReplayScope = 'failed';

  @ApiProperty({
    default: false,
    description:
      'Set to true to count the deliveries of a replay without starting the replay. A later replay can attempt more or ' +
      'fewer deliveries than a dry run counted, because events are recorded and delivered in the meantime.',
  })
  @Optional()
  @Flag()
  dryRun: boolean = false;
}

@ApiSchema({ name: 'NewDelivery' })
export class NewDeliveryDto {
  @ApiProperty({
    example: 'evt_8d0c3f9a4b5e6d7c8b9a0f1e2d3c4b5a69788796',
    description: 'Id of the event to deliver. The event must still be in the event log.',
  })
  @TextOf(100)
  eventId!: string;
}

/**
 * Converts a request body to a replay request.
 * @throws {Problem} if `until` is not later than `since`
 */
export function replayRequestOf({ since, until, eventTypes, only: scope }: ReplayDto): ReplayRequest {
  const from = parseInstant(since) ?? 0;
  const to = parseInstant(until) ?? Infinity;
  if (to <= from) throw invalid({ field: 'until', message: 'must be later than `since`' });
  return { since: from, until: to, scope, ...(eventTypes === undefined ? {} : { eventTypes }) };
}

@ApiSchema({ name: 'StartedReplay' })
export class ReplayReply {
  @ApiProperty({
    type: 'integer',
    description:
      'Number of deliveries that the replay will attempt. With `dryRun`, the number of deliveries that a replay would attempt now.',
  })
  count!: number;
}
