import type { Cursor } from './cursor.js';
import { type EventDataFilter, matchesEventDataFilter } from './event-data-filter.js';
import { type EventTypePattern, matchesEventType } from './event-type.js';
import type { LoggedEvent, NewEvent } from './event.js';

/** Selects events by type, contact, data or any other rule. An absent field does not restrict the selection. */
export interface EventFilter extends EventDataFilter {
  types?: readonly EventTypePattern[];
  contactId?: string;
  /**
   * Additional condition, defined by the caller. Resolves to true for an event that meets the condition. The other
   * events are hidden: `hasMore` is true only if another event passes the filter, or if the read has examined its
   * maximum number of events.
   */
  accepts?: (event: LoggedEvent) => Promise<boolean>;
  /** Maximum number of events that one read with a filter examines; by default, and at most, 5,000. */
  maxExamined?: number;
}

/** One page of the event log. */
export interface EventPage {
  events: LoggedEvent[];
  /** Cursor of the next page. Set even if this page is empty. */
  next: Cursor;
  /**
   * True if the log contains further events after this page, even if the filter rejects them, or if the read has
   * examined its maximum number of events. With {@link EventFilter.accepts}, events that the filter rejects do not
   * count.
   */
  hasMore: boolean;
}

/**
 * Limits on the age and number of events that the log keeps. An event that is not yet dispatched is always
 * kept.
 */
export interface EventRetention {
  /** Max age of an event, in milliseconds. */
  maxAgeMs: number;
  /** Max number of events per account. */
  maxCount: number;
}

/**
 * Thrown if events after a cursor were already removed from the log, or if the cursor belongs to an earlier
 * log, which was lost.
 */
export class CursorExpiredError extends Error {
  constructor() {
    super(
      'The cursor is older than the oldest kept event, or it is from an event log that was lost. Read from the oldest event, without a cursor.',
    );
    this.name = 'CursorExpiredError';
  }
}

/** Stores the events of each account in a log of its own. */
export interface EventLog {
  /**
   * Records events that do not report a change of stored data, such as `webhook.test`. An event that reports such a
   * change is recorded by the Redis script that stores the change. Skips an event whose id is already recorded.
   */
  append(account: string, events: readonly NewEvent[]): Promise<void>;

  /**
   * Returns at most `limit` events after a cursor, oldest first. If the cursor is undefined, starts at the oldest
   * kept event. Events that the filter rejects do not count towards `limit`, so the cursor `next` of the page may be
   * many events after the last returned event. A page ends earlier if the read has examined its maximum number of
   * events (see {@link EventFilter.maxExamined}), or before the event with which the data of the page would exceed 8
   * million characters. The first event is returned even if it is larger.
   * @throws {CursorExpiredError}
   */
  read(account: string, after: Cursor | undefined, limit: number, filter?: EventFilter): Promise<EventPage>;

  /**
   * Returns the newest events, at most `count`, oldest first. `next` is the cursor of the end of the log, and
   * `hasMore` is false. Examines at most the newest 5,000 events of the log, or {@link EventFilter.maxExamined} if
   * that is less, even if the filter rejects most of them. As in {@link read}, large events make the page shorter.
   */
  readLast(account: string, count: number, filter?: EventFilter): Promise<EventPage>;

  /** Returns a cursor that is positioned after the newest event. Works for an empty log too. */
  end(account: string): Promise<Cursor>;

  /** Returns one event, or undefined if the log does not hold the event. */
  find(account: string, id: string): Promise<LoggedEvent | undefined>;

  /**
   * Returns the event that reports a certain revision of an object, whatever the event's type. Returns undefined if
   * the log does not contain such an event. The event is found by its id, which is a hash of subject, revision and
   * other data.
   * @param subject kind and id of the object, such as `message:abc`
   */
  findRevision(account: string, subject: string, revision: string | number): Promise<LoggedEvent | undefined>;

  /**
   * Removes the oldest events that exceed the retention limits. One call removes only a bounded number of
   * events. Returns the number of removed events.
   */
  trim(account: string, retention: EventRetention): Promise<number>;

  /** Returns the age of the oldest event that is not yet dispatched, in milliseconds, or 0 if all are dispatched. */
  dispatchLagMs(account: string): Promise<number>;

  /**
   * Returns the time at which the account's log was created, which is when the log got its first event or
   * returned its first cursor. Returns undefined if the log does not exist.
   */
  installedAt(account: string): Promise<Date | undefined>;
}

/** Returns the events that pass a filter, in the same order. */
export async function selectEvents(
  filter: EventFilter,
  events: readonly LoggedEvent[],
): Promise<LoggedEvent[]> {
  const matching = events.filter((event) => matchesFields(filter, event));
  const { accepts } = filter;
  if (accepts === undefined) return matching;
  const accepted = await Promise.all(matching.map(accepts));
  return matching.filter((_, i) => accepted[i] === true);
}

/** Returns true if an event meets all conditions of a filter except `accepts`, which is not checked. */
function matchesFields(
  filter: EventFilter,
  event: Pick<LoggedEvent, 'type' | 'contactId' | 'data'>,
): boolean {
  const { types, contactId } = filter;
  if (contactId !== undefined && contactId !== event.contactId) return false;
  if (types?.some((pattern) => matchesEventType(pattern, event.type)) === false) return false;
  return matchesEventDataFilter(filter, event);
}
