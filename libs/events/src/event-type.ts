/** Every event type that the product emits. */
export const EVENT_TYPES = [
  'message.received',
  'message.sent',
  'message.created',
  'message.delivered',
  'message.read',
  'message.updated',
  'message.deleted',
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'contact.resynced',
  'send.accepted',
  'send.unconfirmed',
  'send.sent',
  'send.failed',
  'send.unknown',
  'send.cancelled',
  'send.expired',
  'upstream.unavailable',
  'upstream.recovered',
  'account.suspect',
  'webhook.disabled',
  'webhook.test',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** The event types of one subject: for `message`, every type that starts with `message.`. */
export type EventTypeOf<Subject extends string> = Extract<EventType, `${Subject}.${string}`>;

/** Matches event types: a single type, all types with one prefix (such as `message.*`), or all types (`*`). */
export type EventTypePattern = string;

/** Returns true if the pattern matches at least one known event type. */
export function isEventTypePattern(text: string): text is EventTypePattern {
  return EVENT_TYPES.some((type) => matchesEventType(text, type));
}

/** Returns true if a pattern matches an event type. */
export function matchesEventType(pattern: EventTypePattern, type: EventType): boolean {
  if (pattern === '*' || pattern === type) return true;
  return pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1));
}
