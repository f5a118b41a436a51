import type { Cursor } from './cursor.js';
import { type EventTypePattern, matchesEventType } from './event-type.js';
import type { LoggedEvent, NewEvent } from './event.js';

/** Selects events. An absent field selects all events. */
export interface EventFilter {
  types?: readonly EventTypePattern[];
  contactId?: string;
}

/** One page of the event log. */
export interface EventPage {
  events: LoggedEvent[];
  /** Cursor of the next page. An empty page has one too. */
  next: Cursor;
  /** True if the log holds further entries after this page. */
  hasMore: boolean;
}

/** Limits on the kept events. An event that is not yet dispatched is always kept. */
export interface EventRetention {
  /** Max age of an event, in milliseconds. */
  maxAgeMs: number;
  /** Max number of events per account. */
  maxCount: number;
}

/** Thrown for a cursor whose position was trimmed from the log, or that belongs to an earlier installation. */
export class CursorExpiredError extends Error {
  constructor() {
    super(
      'The cursor is older than the oldest kept event, or it is from an earlier installation. Read from the oldest event, without a cursor.',
    );
    this.name = 'CursorExpiredError';
  }
}

/** Stores the events of each account in a log of its own. */
export interface EventLog {
  /** Records events that no other script commits with its state. Skips an event whose id is already recorded. */
  append(account: string, events: readonly NewEvent[]): Promise<void>;

  /**
   * Returns at most `limit` events after a cursor, oldest first. Starts at the oldest kept event if the cursor is
   * undefined. Events that the filter rejects are skipped and not counted, so `next` may be far ahead.
   * @throws {CursorExpiredError}
   */
  read(account: string, after: Cursor | undefined, limit: number, filter?: EventFilter): Promise<EventPage>;

  /** Returns the cursor after the newest event. An empty log has one too. */
  end(account: string): Promise<Cursor>;

  /** Returns one event, or undefined if the log does not hold the event. */
  find(account: string, id: string): Promise<LoggedEvent | undefined>;

  /**
   * Returns the event of any type that records a revision of a subject, or undefined if the log does not hold it. The
   * event is found by its id, which is a hash that includes the subject and the revision.
   */
  findRevision(account: string, subject: string, revision: string | number): Promise<LoggedEvent | undefined>;

  /** Removes a bounded number of expired or excess events. Returns the number of removed events. */
  trim(account: string, retention: EventRetention): Promise<number>;

  /** Returns the age of the oldest event that is not yet dispatched, in milliseconds, or 0 if all are dispatched. */
  dispatchLagMs(account: string): Promise<number>;

  /** Returns when the first event or cursor created the account's log, or undefined if the log does not exist. */
  installedAt(account: string): Promise<Date | undefined>;
}

/** Returns true if an event passes a filter. */
export function matchesFilter(filter: EventFilter, event: Pick<LoggedEvent, 'type' | 'contactId'>): boolean {
  if (filter.contactId !== undefined && filter.contactId !== event.contactId) return false;
  return filter.types === undefined || filter.types.some((pattern) => matchesEventType(pattern, event.type));
}
