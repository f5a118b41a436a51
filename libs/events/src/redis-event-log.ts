import { accountKeys, type AccountKeys, type RedisClient, RedisScript, redisTime } from '#platform';
import { type Cursor, isBefore } from './cursor.js';
import {
  CursorExpiredError,
  type EventFilter,
  type EventLog,
  type EventPage,
  type EventRetention,
  passes,
} from './event-log.js';
import type { LoggedEvent, NewEvent } from './event.js';
import { EVENT_TYPES } from './event-type.js';
import { APPEND_EVENTS, eventArguments, eventId, logKeys } from './redis-append.js';
import { readStreamEntry } from './redis-stream-entry.js';

const append = new RedisScript(`${APPEND_EVENTS}
append_events(1)
`);

/**
 * Sees to it that the log has an epoch, so that a cursor can be given before the first event. Where it has one nothing is
 * written: a Redis that is full can still be read.
 */
const open = new RedisScript(`${APPEND_EVENTS}
if redis.call('HEXISTS', COUNTERS, 'epoch') == 0 then append_events(1) end
return redis.call('HMGET', COUNTERS, 'epoch', 'last', 'trimmed')
`);

/**
 * Removes from the head of the log what is too old or too much, never what is above the dispatched mark.
 * ARGV: most entries to keep, oldest time to keep in ms, most entries to look at.
 */
const trim = new RedisScript(`
local log, index, counters = KEYS[1], KEYS[2], KEYS[3]
local function parts(id)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(n)
end
local mark_ms, mark_n = parts(redis.call('HGET', counters, 'dispatched') or '0-0')
local excess = redis.call('XLEN', log) - tonumber(ARGV[1])
local removed, last, ids = 0, nil, {}
for _, entry in ipairs(redis.call('XRANGE', log, '-', '+', 'COUNT', ARGV[3])) do
  local ms, n = parts(entry[1])
  local dispatched = ms < mark_ms or (ms == mark_ms and n <= mark_n)
  if not dispatched or (removed >= excess and ms >= tonumber(ARGV[2])) then break end
  removed = removed + 1
  last = entry[1]
  ids[removed] = entry[2][2]
end
if removed > 0 then
  for i = 1, removed, 1000 do
    redis.call('HDEL', index, unpack(ids, i, math.min(i + 999, removed)))
  end
  redis.call('XTRIM', log, 'MINID', last)
  redis.call('XDEL', log, last)
  redis.call('HSET', counters, 'trimmed', last)
end
return removed
`);

const CHUNK = 500;
/** How many entries one filtered read may pass over before it answers with what it has. */
const MOST_SCANNED = 5_000;
const MOST_TRIMMED = 1_000;

/** {@link EventLog} as one Redis stream an account. */
export class RedisEventLog implements EventLog {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async append(account: string, events: readonly NewEvent[]): Promise<void> {
    await append.run(this.redis, logKeys(this.keys(account)), eventArguments(account, events));
  }

  async read(
    account: string,
    after: Cursor | undefined,
    limit: number,
    filter: EventFilter = {},
  ): Promise<EventPage> {
    const { events, position, hasMore } = await this.scan(account, after?.position ?? '0-0', limit, filter);
    // Asked afterwards: what is trimmed while it is being read must not be passed over in silence.
    const { epoch, trimmed } = await this.state(account);
    if (after !== undefined && (after.epoch !== epoch || isBefore(after.position, trimmed))) {
      throw new CursorExpiredError();
    }
    return { events, next: { epoch, position }, hasMore };
  }

  async end(account: string): Promise<Cursor> {
    const { epoch, last } = await this.state(account);
    return { epoch, position: last };
  }

  async find(account: string, id: string): Promise<LoggedEvent | undefined> {
    const [log, index] = logKeys(this.keys(account));
    const position = await this.redis.hget(index, id);
    if (position === null) return undefined;
    const [entry] = await this.redis.xrange(log, position, position);
    return entry === undefined ? undefined : readStreamEntry(account, entry);
  }

  async findRevision(
    account: string,
    subject: string,
    revision: string | number,
  ): Promise<LoggedEvent | undefined> {
    const { epoch } = await this.state(account);
    const ids = EVENT_TYPES.map((type) => eventId(account, epoch, subject, type, revision));
    const [, index] = logKeys(this.keys(account));
    const places = await this.redis.hmget(index, ...ids);
    const id = ids.find((_, i) => places[i] != null);
    return id === undefined ? undefined : this.find(account, id);
  }

  async trim(account: string, { maxAgeMs, maxCount }: EventRetention): Promise<number> {
    const keys = logKeys(this.keys(account));
    const oldest = (await redisTime(this.redis, keys[0])) - maxAgeMs;
    return Number(await trim.run(this.redis, keys, [maxCount, oldest, MOST_TRIMMED]));
  }

  async dispatchLagMs(account: string): Promise<number> {
    const [log, , counters] = logKeys(this.keys(account));
    const mark = (await this.redis.hget(counters, 'dispatched')) ?? '0-0';
    const [first] = await this.redis.xrange(log, `(${mark}`, '+', 'COUNT', 1);
    if (first === undefined) return 0;
    // An event's place begins with its time by Redis' clock.
    return Math.max((await redisTime(this.redis, log)) - Number.parseInt(first[0], 10), 0);
  }

  async installedAt(account: string): Promise<Date | undefined> {
    const [, , counters] = logKeys(this.keys(account));
    const at = await this.redis.hget(counters, 'installedAt');
    return at === null ? undefined : new Date(Number(at));
  }

  /** Events after a place, the place to read on from, and whether more is there. */
  private async scan(
    account: string,
    after: string,
    limit: number,
    filter: EventFilter,
  ): Promise<{ events: LoggedEvent[]; position: string; hasMore: boolean }> {
    const everything = filter.types === undefined && filter.contactId === undefined;
    // One more than wanted tells whether there is more.
    const size = everything ? Math.min(CHUNK, limit + 1) : CHUNK;
    const events: LoggedEvent[] = [];
    let position = after;
    for (let scanned = 0; scanned < MOST_SCANNED; scanned += size) {
      const chunk = await this.chunk(account, position, size);
      for (const event of chunk) {
        if (events.length === limit) return { events, position, hasMore: true };
        position = event.position;
        if (passes(filter, event)) events.push(event);
      }
      if (chunk.length < size) return { events, position, hasMore: false };
    }
    return { events, position, hasMore: true };
  }

  private async chunk(account: string, after: string, size: number): Promise<LoggedEvent[]> {
    const [log] = logKeys(this.keys(account));
    const entries = await this.redis.xrange(log, `(${after}`, '+', 'COUNT', size);
    return entries.flatMap((entry) => readStreamEntry(account, entry) ?? []);
  }

  private async state(account: string): Promise<{ epoch: string; last: string; trimmed: string }> {
    const reply = await open.run(this.redis, logKeys(this.keys(account)), eventArguments(account, []));
    const [epoch, last, trimmed] = reply as [string, string | null, string | null];
    return { epoch, last: last ?? '0-0', trimmed: trimmed ?? '0-0' };
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}
