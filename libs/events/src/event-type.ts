/** Every type of event that the gateway tells of. */
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

/** The types of one subject, such as every `message.…`. */
export type EventTypeOf<Subject extends string> = Extract<EventType, `${Subject}.${string}`>;

/** A type, or every type of a subject (`message.*`), or every type (`*`). */
export type EventTypePattern = string;

/** Whether the text is a known type or a pattern that at least one known type matches. */
export function isEventTypePattern(text: string): text is EventTypePattern {
  return EVENT_TYPES.some((type) => matchesEventType(text, type));
}

/** Whether a pattern covers a type. */
export function matchesEventType(pattern: EventTypePattern, type: EventType): boolean {
  if (pattern === '*' || pattern === type) return true;
  return pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1));
}
