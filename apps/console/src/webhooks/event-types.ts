import type { Event } from '#client';

/** An event type that Tidings emits. */
export type EventType = Event['type'];

/** All event types. The compiler reports a missing or unknown one. */
const IS_EVENT_TYPE: Readonly<Record<EventType, true>> = {
  'message.received': true,
  'message.sent': true,
  'message.created': true,
  'message.delivered': true,
  'message.read': true,
  'message.updated': true,
  'message.deleted': true,
  'contact.created': true,
  'contact.updated': true,
  'contact.deleted': true,
  'contact.resynced': true,
  'send.accepted': true,
  'send.unconfirmed': true,
  'send.sent': true,
  'send.failed': true,
  'send.unknown': true,
  'send.cancelled': true,
  'send.expired': true,
  'upstream.unavailable': true,
  'upstream.recovered': true,
  'account.suspect': true,
  'webhook.disabled': true,
  'webhook.test': true,
};

/** Event types of one subject, and the pattern that selects them all. */
export interface EventTypeGroup {
  subject: string;
  pattern: string;
  types: readonly string[];
}

/**
 * The event types that a webhook can select, by subject. Test events are not offered, because a webhook gets them
 * without selecting them.
 */
export const EVENT_TYPE_GROUPS: readonly EventTypeGroup[] = groupsOf(
  Object.keys(IS_EVENT_TYPE).filter((type) => type !== 'webhook.test'),
);

const OFFERED: ReadonlySet<string> = new Set(
  EVENT_TYPE_GROUPS.flatMap(({ pattern, types }) => [pattern, ...types]),
);

/** Returns true if the form has a check box for the event type or pattern. */
export function isOffered(pattern: string): boolean {
  return OFFERED.has(pattern);
}

function groupsOf(types: readonly string[]): EventTypeGroup[] {
  const subjects = [...new Set(types.map((type) => type.slice(0, type.indexOf('.'))))];
  return subjects.map((subject) => ({
    subject,
    pattern: `${subject}.*`,
    types: types.filter((type) => type.startsWith(`${subject}.`)),
  }));
}
