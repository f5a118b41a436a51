import { EVENT_TYPES } from '#client';

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
  EVENT_TYPES.filter((type) => type !== 'webhook.test'),
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
