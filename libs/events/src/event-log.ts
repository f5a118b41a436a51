import type { Cursor } from './cursor.js';
import { type EventTypePattern, matchesEventType } from './event-type.js';
import type { LoggedEvent, NewEvent } from './event.js';

/** Which events a reader wants; nothing given means all. */
export interface EventFilter {
  types?: readonly EventTypePattern[];
  contactId?: string;
}

/** A stretch of the log. */
export interface EventPage {
  events: LoggedEvent[];
  /** Where to read on; also after an empty stretch. */
  next: Cursor;
  /** Whether more is there to be read at once. */
  hasMore: boolean;
}

/** How long events are kept. What is not yet dispatched is kept however old. */
export interface EventRetention {
  maxAgeMs: number;
  maxCount: number;
}

/** The position of a cursor is no longer in the log, or the cursor is from an earlier installation. */
export class CursorExpiredError extends Error {
  constructor() {
    super(
      'The cursor is older than the oldest kept event, or it is from an earlier installation. Read from the oldest event, without a cursor.',
    );
    this.name = 'CursorExpiredError';
  }
}

/** The record of everything that changed, one log an account. */
export interface EventLog {
  /** Records events that belong to no other state. An event whose id is already recorded is left alone. */
  append(account: string, events: readonly NewEvent[]): Promise<void>;

  /**
   * Events after a cursor, oldest first, at most `limit`. Without a cursor: from the oldest that is kept.
   * A filter bounds what is returned, not what is passed over: `next` may be far ahead with few events.
   * @throws {CursorExpiredError}
   */
  read(account: string, after: Cursor | undefined, limit: number, filter?: EventFilter): Promise<EventPage>;

  /** The place after the newest event; also of an empty log. */
  end(account: string): Promise<Cursor>;

  /** One event, or undefined if it is not kept (any more). */
  find(account: string, id: string): Promise<LoggedEvent | undefined>;

  /**
   * The event of a subject's revision, whatever its type, or undefined if it is not kept (any more): ids are made from
   * exactly that.
   */
  findRevision(account: string, subject: string, revision: string | number): Promise<LoggedEvent | undefined>;

  /** Removes what retention lets go, a bounded number at a time; the number that was removed. */
  trim(account: string, retention: EventRetention): Promise<number>;

  /** For how long the first event that is not dispatched yet has been there, in milliseconds; 0 where none is. */
  dispatchLagMs(account: string): Promise<number>;

  /** When this installation's log began, or undefined while nothing has been recorded. */
  installedAt(account: string): Promise<Date | undefined>;
}

/** Whether an event passes a filter. */
export function passes(filter: EventFilter, event: Pick<LoggedEvent, 'type' | 'contactId'>): boolean {
  if (filter.contactId !== undefined && filter.contactId !== event.contactId) return false;
  return filter.types === undefined || filter.types.some((pattern) => matchesEventType(pattern, event.type));
}
