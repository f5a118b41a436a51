import { accountKeys, type AccountKeys, LuaScript, type RedisClient, readRedisTime } from '#platform';
import { type Cursor, isLogPositionBefore } from './cursor.js';
import { isEventDataFilterActive } from './event-data-filter.js';
import {
  CursorExpiredError,
  type EventFilter,
  type EventLog,
  type EventPage,
  type EventRetention,
  selectEvents,
} from './event-log.js';
import type { LoggedEvent, NewEvent } from './event.js';
import { EVENT_TYPES } from './event-type.js';
import { appendEventsLuaArguments, eventId, eventLogRedisKeys } from './redis-append.js';
import { parseRedisStreamEntry } from './redis-stream-entry.js';

const appendEventsScript = LuaScript.from(import.meta.url, 'lua/append.lua');

const openEventLogScript = LuaScript.from(import.meta.url, 'lua/open-log.lua');

const trimEventLogScript = LuaScript.from(import.meta.url, 'lua/trim-log.lua');

/**
 * Maximum number of log entries that one command reads. The first command of a read reads fewer, because the size of
 * the entries is not known yet.
 */
const CHUNK = 500;
const FIRST_CHUNK = 16;
/**
 * Size that the events in one reply of Redis should not exceed, in characters. Applies to each command of a read
 * except the first. While Redis sends a larger reply, other commands on the connection could exceed their time limit.
 */
const CHUNK_CHARACTERS = 2_000_000;
/**
 * Maximum size of the events that one read returns, in characters. Without this limit, a few callers that read pages
 * of large events could use up the memory of the process. A read returns at least one event, even if the event is
 * larger.
 */
const MAX_PAGE_CHARACTERS = 8_000_000;
/** Maximum number of log entries that one read examines, even if the filter rejects most of them. */
export const MAX_EXAMINED_EVENTS = 5_000;
const MAX_TRIMMED = 1_000;
/** Position before the first event of a log. */
const BEFORE_FIRST = '0-0';

/** Implements {@link EventLog} with one Redis stream per account. */
export class RedisEventLog implements EventLog {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async append(account: string, events: readonly NewEvent[]): Promise<void> {
    await appendEventsScript.run(this.redis, eventLogRedisKeys(this.keys(account)), {
      events: appendEventsLuaArguments(account, events),
    });
  }

  async read(
    account: string,
    after: Cursor | undefined,
    limit: number,
    filter: EventFilter = {},
  ): Promise<EventPage> {
    const { events, position, hasMore } = await this.scan(
      account,
      after?.position ?? BEFORE_FIRST,
      limit,
      filter,
    );
    // `epoch` and `trimmed` are read after the events, to find out whether events were removed in the meantime.
    // Otherwise the caller could miss removed events without an error.
    const { epoch, trimmed } = await this.state(account);
    if (after !== undefined && (after.epoch !== epoch || isLogPositionBefore(after.position, trimmed))) {
      throw new CursorExpiredError();
    }
    // If the log is empty, the cursor is placed after the last removed event. A cursor before that event would
    // count as expired.
    const isEmpty = after === undefined && position === BEFORE_FIRST;
    return { events, next: { epoch, position: isEmpty ? trimmed : position }, hasMore };
  }

  async readLast(account: string, count: number, filter: EventFilter = {}): Promise<EventPage> {
    const { epoch, last } = await this.state(account);
    const { log } = eventLogRedisKeys(this.keys(account));
    const isUnfiltered = selectsAll(filter);
    let size = Math.min(isUnfiltered ? count : CHUNK, FIRST_CHUNK);
    const events: LoggedEvent[] = [];
    const isFull = createPageFullCheck(count);
    let from = last;
    const maxScanned = maxExaminedOf(filter);
    for (let scanned = 0; scanned < maxScanned && events.length < count;) {
      const entries = await this.redis.xrevrange(log, from, '-', 'COUNT', size);
      const chunk = entries.flatMap((entry) => parseRedisStreamEntry(account, entry) ?? []);
      const matching = await selectEvents(filter, chunk);
      const isLeftOut = matching.findIndex(isFull);
      events.push(...matching.slice(0, isLeftOut < 0 ? undefined : isLeftOut));
      const oldest = entries.at(-1);
      if (isLeftOut >= 0 || oldest === undefined || entries.length < size) break;
      from = `(${oldest[0]}`;
      scanned += size;
      const wanted = isUnfiltered ? count - events.length : CHUNK;
      size = Math.min(nextChunkSize(chunk), wanted, maxScanned - scanned);
    }
    return { events: events.reverse(), next: { epoch, position: last }, hasMore: false };
  }

  async end(account: string): Promise<Cursor> {
    const { epoch, last } = await this.state(account);
    return { epoch, position: last };
  }

  async find(account: string, id: string): Promise<LoggedEvent | undefined> {
    const { log, logIndex } = eventLogRedisKeys(this.keys(account));
    const position = await this.redis.hget(logIndex, id);
    if (position === null) return undefined;
    const [entry] = await this.redis.xrange(log, position, position);
    return entry === undefined ? undefined : parseRedisStreamEntry(account, entry);
  }

  async findRevision(
    account: string,
    subject: string,
    revision: string | number,
  ): Promise<LoggedEvent | undefined> {
    const { epoch } = await this.state(account);
    const ids = EVENT_TYPES.map((type) => eventId(account, epoch, subject, type, revision));
    const { logIndex } = eventLogRedisKeys(this.keys(account));
    const positions = await this.redis.hmget(logIndex, ...ids);
    const id = ids.find((_, i) => positions[i] != null);
    return id === undefined ? undefined : this.find(account, id);
  }

  async trim(account: string, { maxAgeMs, maxCount }: EventRetention): Promise<number> {
    const keys = eventLogRedisKeys(this.keys(account));
    const oldest = (await readRedisTime(this.redis, keys.log)) - maxAgeMs;
    return Number(
      await trimEventLogScript.run(this.redis, keys, { maxCount, oldest, maxExamined: MAX_TRIMMED }),
    );
  }

  async dispatchLagMs(account: string): Promise<number> {
    const { log, logCounters } = eventLogRedisKeys(this.keys(account));
    const mark = (await this.redis.hget(logCounters, 'dispatched')) ?? BEFORE_FIRST;
    const [first] = await this.redis.xrange(log, `(${mark}`, '+', 'COUNT', 1);
    if (first === undefined) return 0;
    // The position also begins with a time, but with a later one than that of the event if Redis' clock was set back.
    const recordedAt = Date.parse(parseRedisStreamEntry(account, first)?.timestamp ?? '');
    return Math.max((await readRedisTime(this.redis, log)) - recordedAt, 0);
  }

  async installedAt(account: string): Promise<Date | undefined> {
    const { logCounters } = eventLogRedisKeys(this.keys(account));
    const at = await this.redis.hget(logCounters, 'installedAt');
    return at === null ? undefined : new Date(Number(at));
  }

  /** Returns the events after a position, the position to continue from, and whether the log has more. */
  private async scan(
    account: string,
    after: string,
    limit: number,
    filter: EventFilter,
  ): Promise<{ events: LoggedEvent[]; position: string; hasMore: boolean }> {
    const isUnfiltered = selectsAll(filter);
    // One entry more than requested is read, because it shows whether the log has more entries.
    let size = Math.min(isUnfiltered ? limit + 1 : CHUNK, FIRST_CHUNK);
    const events: LoggedEvent[] = [];
    const isFull = createPageFullCheck(limit);
    const maxScanned = maxExaminedOf(filter);
    const hidesEvents = filter.accepts !== undefined;
    let position = after;
    for (let scanned = 0; scanned < maxScanned;) {
      const chunk = await this.chunk(account, position, size);
      const matching = new Set(await selectEvents(filter, chunk));
      for (const event of chunk) {
        // If the filter hides events, a hidden event must not make the caller believe that more events follow.
        if (events.length === limit && !hidesEvents) return { events, position, hasMore: true };
        const isMatch = matching.has(event);
        if (isMatch && isFull(event))
          return { events, position: hidesEvents ? lastPositionOf(events, after) : position, hasMore: true };
        position = event.position;
        if (isMatch) events.push(event);
      }
      if (chunk.length < size) return { events, position, hasMore: false };
      scanned += size;
      const wanted = isUnfiltered ? limit + 1 - events.length : CHUNK;
      size = Math.min(nextChunkSize(chunk), wanted, maxScanned - scanned);
    }
    return { events, position, hasMore: true };
  }

  private async chunk(account: string, after: string, size: number): Promise<LoggedEvent[]> {
    const { log } = eventLogRedisKeys(this.keys(account));
    const entries = await this.redis.xrange(log, `(${after}`, '+', 'COUNT', size);
    return entries.flatMap((entry) => parseRedisStreamEntry(account, entry) ?? []);
  }

  private async state(account: string): Promise<{ epoch: string; last: string; trimmed: string }> {
    const reply = await openEventLogScript.run(this.redis, eventLogRedisKeys(this.keys(account)), {
      events: appendEventsLuaArguments(account, []),
    });
    const { epoch, last, trimmed } = reply as { epoch: string; last: string | null; trimmed: string | null };
    return { epoch, last: last ?? BEFORE_FIRST, trimmed: trimmed ?? BEFORE_FIRST };
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}

/**
 * Returns a function that is called with the events of a page, one after the other. It returns true for the first
 * event that does not fit into the page.
 * @param limit maximum number of events
 */
function createPageFullCheck(limit: number): (event: LoggedEvent) => boolean {
  let count = 0;
  let characters = 0;
  return ({ data }) => {
    count += 1;
    characters += data.length;
    return count > limit || (count > 1 && characters > MAX_PAGE_CHARACTERS);
  };
}

/**
 * Returns how many log entries to read next.
 * @param chunk events of the entries that were read last
 */
function nextChunkSize(chunk: readonly LoggedEvent[]): number {
  const characters = chunk.reduce((sum, { data }) => sum + data.length, 0);
  const fitting = Math.floor((CHUNK_CHARACTERS * chunk.length) / Math.max(characters, 1));
  return Math.min(Math.max(fitting, 1), CHUNK);
}

/** Returns the maximum number of log entries that one read with this filter examines. */
function maxExaminedOf(filter: EventFilter): number {
  return selectsAll(filter)
    ? MAX_EXAMINED_EVENTS
    : Math.min(filter.maxExamined ?? Infinity, MAX_EXAMINED_EVENTS);
}

function lastPositionOf(events: readonly LoggedEvent[], before: string): string {
  return events.at(-1)?.position ?? before;
}

/** Returns true if a filter rejects no event. */
function selectsAll(filter: EventFilter): boolean {
  const { types, contactId, accepts } = filter;
  return (
    types === undefined &&
    contactId === undefined &&
    accepts === undefined &&
    !isEventDataFilterActive(filter)
  );
}
