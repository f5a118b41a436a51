import type { LoggedEvent } from './event.js';

/** Selects events by the message or send in their data. An absent field does not restrict the selection. */
export interface EventDataFilter {
  /** Id of the message that the event is about: `message.id` in its data. */
  messageId?: string;
  /** Id of the send that the event belongs to: `sendId` or `send.id` in its data. */
  sendId?: string;
}

/**
 * The fields of an event's data that the filter compares. The ids of messages come from upstream, so they may have
 * any type.
 */
interface FilteredData {
  message?: { id?: unknown } | null;
  send?: { id?: unknown } | null;
  sendId?: unknown;
}

/** Returns true if the filter selects events by the message or send in their data. */
export function isEventDataFilterActive({ messageId, sendId }: EventDataFilter): boolean {
  return messageId !== undefined || sendId !== undefined;
}

/** Returns true if the data of an event has the ids that the filter requires. */
export function matchesEventDataFilter(
  filter: EventDataFilter,
  { data }: Pick<LoggedEvent, 'data'>,
): boolean {
  const { messageId, sendId } = filter;
  // An event is parsed only if its JSON text contains the ids of the filter: a read may examine thousands of events,
  // and parsing all of them would be slow.
  if (!mayContain(data, messageId) || !mayContain(data, sendId)) return false;
  if (!isEventDataFilterActive(filter)) return true;
  const { message, send, sendId: ownSend } = JSON.parse(data) as FilteredData;
  if (messageId !== undefined && !isId(message?.id, messageId)) return false;
  return sendId === undefined || isId(ownSend, sendId) || isId(send?.id, sendId);
}

/** Returns true if the JSON text contains the id, perhaps as a part of another string, or if no id is given. */
function mayContain(data: string, id: string | undefined): boolean {
  return id === undefined || data.includes(JSON.stringify(id).slice(1, -1));
}

/** Returns true if the value is the id, as a string or as a number. */
function isId(value: unknown, id: string): boolean {
  return (typeof value === 'string' || typeof value === 'number') && String(value) === id;
}
