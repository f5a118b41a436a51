import { parseRedisHashReply } from '#platform';
import type { EventType } from './event-type.js';
import type { LoggedEvent } from './event.js';

/**
 * A Redis stream entry as ioredis returns it. In `fields`, each name is followed by its value. `fields` is
 * null for a deleted entry.
 */
export type StreamEntry = [position: string, fields: string[] | null];

/** Returns the event that a stream entry records, or undefined for a deleted entry. */
export function parseRedisStreamEntry(
  account: string,
  [position, fields]: StreamEntry,
): LoggedEvent | undefined {
  if (fields === null) return undefined;
  const value = parseRedisHashReply(fields);
  const contactId = value.get('c');
  const trace = value.get('tr');
  return {
    position,
    id: value.get('i') ?? '',
    type: value.get('t') as EventType,
    timestamp: new Date(Number(value.get('at'))).toISOString(),
    account,
    ...(contactId === undefined || contactId === '' ? {} : { contactId }),
    sequence: Number(value.get('s')),
    data: value.get('d') ?? '{}',
    ...(trace === undefined ? {} : { trace }),
  };
}
