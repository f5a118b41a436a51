import { hashOf } from '#platform';
import type { EventType } from './event-type.js';
import type { LoggedEvent } from './event.js';

/** An entry of a stream as ioredis returns it: its id and its fields and values in turn; null once it was deleted. */
export type StreamEntry = [position: string, fields: string[] | null];

/** The event that a stream entry records, or undefined for an entry that was deleted meanwhile. */
export function readStreamEntry(account: string, [position, fields]: StreamEntry): LoggedEvent | undefined {
  if (fields === null) return undefined;
  const value = hashOf(fields);
  const contactId = value.get('c');
  return {
    position,
    id: value.get('i') ?? '',
    type: value.get('t') as EventType,
    timestamp: new Date(Number(value.get('at'))).toISOString(),
    account,
    ...(contactId === undefined || contactId === '' ? {} : { contactId }),
    sequence: Number(value.get('s')),
    data: value.get('d') ?? '{}',
  };
}
