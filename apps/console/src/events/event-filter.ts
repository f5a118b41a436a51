import { EVENT_TYPES, type Event } from '#client';

/** Selects events. An empty filter selects all. */
export interface EventFilter {
  types: readonly string[];
  contactId: string;
  messageId: string;
  sendId: string;
}

/** A filter that selects every event. */
export const ALL_EVENTS: EventFilter = { types: [], contactId: '', messageId: '', sendId: '' };

/** Returns the patterns in a text, in which commas or spaces separate them. */
export function patternsIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((pattern) => pattern !== ''))];
}

/** Returns the first pattern that selects no event type, or undefined. */
export function unknownPatternIn(patterns: readonly string[]): string | undefined {
  return patterns.find((pattern) => !EVENT_TYPES.some((type) => isMatch(pattern, type)));
}

/** Returns true if the filter names one contact, message or send, so that it selects few stored events. */
export function isNarrow({ contactId, messageId, sendId }: EventFilter): boolean {
  return contactId !== '' || messageId !== '' || sendId !== '';
}

/** Returns the event types and patterns that a stream needs for the filter. */
export function streamTypesOf({ types, messageId, sendId }: EventFilter): readonly string[] {
  if (types.length > 0) return types;
  if (messageId !== '') return ['message.*'];
  return sendId === '' ? ['*'] : ['message.*', 'send.*'];
}

/** True if the filter selects the event, by the same rules as the API. */
export function selects({ types, contactId, messageId, sendId }: EventFilter, event: Event): boolean {
  if (types.length > 0 && !types.some((pattern) => isMatch(pattern, event.type))) return false;
  if (contactId !== '' && contactIdOf(event) !== contactId) return false;
  if (messageId !== '' && messageIdOf(event) !== messageId) return false;
  return sendId === '' || sendIdOf(event) === sendId;
}

/** Returns the contact of an event, if it has one. */
export function contactIdOf(event: Event): string | undefined {
  return 'contactId' in event ? event.contactId : undefined;
}

/** Returns the message of an event, if it has one. */
export function messageIdOf({ data }: Event): string | undefined {
  // The messaging service may use numbers as ids.
  return 'message' in data ? String(data.message.id) : undefined;
}

/** Returns the send of an event, if it has one. */
export function sendIdOf({ data }: Event): string | undefined {
  if ('send' in data) return data.send.id;
  return 'sendId' in data ? data.sendId : undefined;
}

function isMatch(pattern: string, type: string): boolean {
  if (pattern === '*' || pattern === type) return true;
  return pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1));
}
