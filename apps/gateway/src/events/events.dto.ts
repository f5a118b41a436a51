import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { IncomingHttpHeaders } from 'node:http';
import { type EventFilter, EVENT_TYPES, type EventType, isEventTypePattern, parseCursor } from '#events';
import { Optional, rule, TextOf, WholeNumberText } from '../input/rules.js';
import { invalid } from '../problems/problem.js';

const MOST_TYPES = 50;

/** Which events a caller wants. */
class FilterQuery {
  @ApiPropertyOptional({
    type: 'string',
    description: 'Types or patterns, separated by commas.',
    example: 'message.*,send.failed',
  })
  @Optional()
  @rule('types', 'must be event types or patterns such as message.*, separated by commas', areTypes)
  types?: string | string[];

  @ApiPropertyOptional({ type: 'string' })
  @Optional()
  @TextOf(1, 512)
  contactId?: string;
}

export class EventsQuery extends FilterQuery {
  @ApiPropertyOptional({
    type: 'string',
    description:
      'The `next` of an earlier answer; `now` for what comes from now on; left out for the oldest kept.',
  })
  @Optional()
  @CursorText()
  after?: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 1000, default: 100 })
  @Optional()
  @WholeNumberText(1, 1000)
  limit: string = '100';

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: 30,
    default: 0,
    description: 'Seconds to wait until something comes.',
  })
  @Optional()
  @WholeNumberText(0, 30)
  wait: string = '0';
}

export class StreamQuery extends FilterQuery {
  @ApiPropertyOptional({
    type: 'string',
    description:
      'A cursor: an `id` of a stream, or the `next` of a list. `now`, or left out, for what comes from now on.',
  })
  @Optional()
  @CursorText()
  after?: string;
}

/** `now`, or a cursor. */
function CursorText(): PropertyDecorator {
  return rule(
    'cursor',
    'must be now, or a cursor that an earlier answer gave',
    (value) => typeof value === 'string' && (value === 'now' || parseCursor(value) !== undefined),
  );
}

/** What a query asks for. */
export function filterOf({ types, contactId }: FilterQuery): EventFilter {
  return {
    ...(types === undefined ? {} : { types: typesOf(types) }),
    ...(contactId === undefined ? {} : { contactId }),
  };
}

/**
 * The cursor of `Last-Event-ID`; an empty one is none.
 * @throws {Problem} for what is no cursor
 */
export function lastEventIdOf(headers: IncomingHttpHeaders): string | undefined {
  const given = headers['last-event-id'];
  if (given === undefined || given === '') return undefined;
  if (typeof given === 'string' && parseCursor(given) !== undefined) return given;
  throw invalid({ field: 'Last-Event-ID', message: 'must be an id that a stream gave' });
}

/** The types of a query, in which the parameter may come more than once. */
function typesOf(value: string | string[]): string[] {
  return [value].flat().flatMap((text) => text.split(',').map((type) => type.trim()));
}

function areTypes(value: unknown): boolean {
  const texts = [value].flat();
  if (!texts.every((text) => typeof text === 'string')) return false;
  const types = typesOf(texts);
  return types.length <= MOST_TYPES && types.every(isEventTypePattern);
}

export class EventView {
  @ApiProperty({ example: 'evt_8d0c3f9a4b5e6d7c8b9a0f1e2d3c4b5a69788796' }) id!: string;
  @ApiProperty({ enum: EVENT_TYPES, example: 'message.received' }) type!: EventType;
  @ApiProperty({ format: 'date-time' }) timestamp!: string;
  @ApiProperty({ example: 'default' }) account!: string;
  @ApiPropertyOptional({ type: 'string', example: 'c_1' }) contactId?: string;
  @ApiProperty({ type: 'integer', example: 17 }) sequence!: number;
  @ApiProperty({ type: 'object', additionalProperties: true }) data!: Record<string, unknown>;
}

export class EventsReply {
  @ApiProperty({ type: [EventView] }) events!: EventView[];
  @ApiProperty({ description: 'Where to read on.' }) next!: string;
  @ApiProperty({ description: 'Whether more is there to be read at once.' }) hasMore!: boolean;
}
