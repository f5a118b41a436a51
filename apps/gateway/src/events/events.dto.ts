import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { IncomingHttpHeaders } from 'node:http';
import { type EventFilter, EVENT_TYPES, type EventType, isEventTypePattern, parseCursor } from '#events';
import { CursorOf, Optional, rule, TextOf, WholeNumberText } from '../input/rules.js';
import { LIVE_TYPES, type LiveType } from './live-types.js';
import { invalid } from '../problems/problem.js';

const MAX_TYPES = 50;
const TYPES_LIMIT = `Event types or patterns, at most ${MAX_TYPES}, separated by commas.`;

/** Filter for events. */
class FilterQuery {
  @ApiProperty({ description: 'Returns only `message.*` and `contact.*` events of this contact.' })
  @Optional()
  @TextOf(512)
  contactId?: string;

  @ApiProperty({
    description: 'Returns only `message.*` events of this message.',
  })
  @Optional()
  @TextOf(512)
  messageId?: string;

  @ApiProperty({
    description: 'Returns only events of this send: its `send.*` events, and the events of its message.',
  })
  @Optional()
  @TextOf(100)
  sendId?: string;
}

export class EventsQuery extends FilterQuery {
  @ApiProperty({
    type: 'string',
    description: `${TYPES_LIMIT} By default, all event types are returned.`,
    example: 'message.*,send.failed',
  })
  @Optional()
  @rule(
    'types',
    `must be 1 to ${MAX_TYPES} event types or patterns such as message.*, separated by commas`,
    (value) => areTypes(value),
  )
  types?: string | string[];

  @ApiProperty({
    type: 'string',
    description:
      'The `next` of an earlier page, or `now` for new events only. By default, the list begins with the oldest stored event.',
  })
  @Optional()
  @CursorText()
  after?: string;

  @ApiProperty({
    description:
      'With `last=50`, the response contains the 50 newest events, oldest first. With the parameter `last`, the field `next` of the response is a cursor that points to the end of the event log. With a filter, only the newest 5,000 events are examined (with a token, 1,000). The parameter `last` cannot be used with `after` or `wait`, and `limit` does not apply.',
  })
  @Optional()
  @WholeNumberText(1, 1000)
  @rule('alone', 'cannot be used with `after` or `wait`', (_, query) => !isPositioned(query))
  last?: string;

  @ApiProperty({ default: 100 })
  @Optional()
  @WholeNumberText(1, 1000)
  limit: string = '100';

  @ApiProperty({
    default: 0,
    description: 'Maximum time to wait for an event if there is none yet, in seconds.',
  })
  @Optional()
  @WholeNumberText(0, 30)
  wait: string = '0';
}

export class StreamQuery extends FilterQuery {
  @ApiProperty({
    type: 'string',
    description: `${TYPES_LIMIT} By default, all types of events in the event log are sent. \`conversation.updated\` and \`send.updated\`, which are not in the event log, are sent only if \`types\` names them.`,
    example: 'message.*,conversation.updated,send.updated',
  })
  @Optional()
  @rule(
    'types',
    `must be 1 to ${MAX_TYPES} event types (such as conversation.updated) or patterns (such as message.*), separated by commas`,
    (value) => areTypes(value, isLiveType),
  )
  types?: string | string[];

  @ApiProperty({
    type: 'string',
    description:
      'Only events after this cursor are sent. The cursor is the value of an `id:` line of an earlier event stream, or the `next` of an event list. The default `now` selects new events only.',
  })
  @Optional()
  @CursorText()
  after?: string;
}

/** Returns true if a query asks for the events after a cursor, or waits for events. */
function isPositioned(query: object): boolean {
  return query instanceof EventsQuery && (query.after !== undefined || query.wait !== '0');
}

/** Decorator: `now`, or a cursor of the event log. */
function CursorText(): PropertyDecorator {
  return CursorOf(
    'must be `now` or a cursor from an earlier response',
    (value) => typeof value === 'string' && (value === 'now' || parseCursor(value) !== undefined),
  );
}

/** Returns the event filter of a query. */
export function filterOf({ types, contactId, messageId, sendId }: EventsQuery | StreamQuery): EventFilter {
  return {
    ...(types === undefined ? {} : { types: typesOf(types).filter((type) => !isLiveType(type)) }),
    ...(contactId === undefined ? {} : { contactId }),
    ...(messageId === undefined ? {} : { messageId }),
    ...(sendId === undefined ? {} : { sendId }),
  };
}

/**
 * Reads the cursor in the `Last-Event-ID` header. Returns undefined if the header is missing or empty.
 * @throws {Problem} if the header is not a cursor
 */
export function lastEventIdOf(headers: IncomingHttpHeaders): string | undefined {
  const given = headers['last-event-id'];
  if (given === undefined || given === '') return undefined;
  if (typeof given === 'string' && parseCursor(given) !== undefined) return given;
  throw invalid({
    field: 'Last-Event-ID',
    message: 'must be the value of an `id:` line of an earlier event stream',
  });
}

/** Returns the types of changes that are not stored and that a stream sends too. */
export function liveTypesOf({ types }: StreamQuery): ReadonlySet<LiveType> {
  return new Set(typesOf(types ?? []).filter(isLiveType));
}

function isLiveType(type: string): type is LiveType {
  return LIVE_TYPES.some((live) => live === type);
}

/** Returns the event types of a query, whose parameter may be repeated. */
function typesOf(value: string | string[]): string[] {
  return [value].flat().flatMap((text) => text.split(',').map((type) => type.trim()));
}

function areTypes(value: unknown, isOther: (type: string) => boolean = () => false): boolean {
  const texts = [value].flat();
  if (!texts.every((text) => typeof text === 'string')) return false;
  const types = typesOf(texts);
  return types.length <= MAX_TYPES && types.every((type) => isOther(type) || isEventTypePattern(type));
}

@ApiSchema({ name: 'Event' })
export class EventView {
  @ApiProperty({ example: 'evt_8d0c3f9a4b5e6d7c8b9a0f1e2d3c4b5a69788796' }) id!: string;
  @ApiProperty({ enum: EVENT_TYPES, example: 'message.received' }) type!: EventType;
  @ApiProperty({ format: 'date-time' }) timestamp!: string;
  @ApiProperty({ example: 'default' }) account!: string;
  @ApiProperty({ type: 'string', example: 'c_1', required: false }) contactId?: string;
  @ApiProperty({ type: 'integer', example: 17 }) sequence!: number;
  @ApiProperty({ type: 'object', additionalProperties: true }) data!: Record<string, unknown>;
}

@ApiSchema({ name: 'EventList' })
export class EventsReply {
  @ApiProperty({ type: [EventView] }) events!: EventView[];
  @ApiProperty({ description: 'Cursor to pass as `after` in the next request.' }) next!: string;
  @ApiProperty({
    description:
      'True if more events can be read now. A filter, or the contacts to which a token is restricted, may exclude all of them.',
  })
  hasMore!: boolean;
}
