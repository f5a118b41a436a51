import { accountKeys, type RedisClient, RedisScript } from '#platform';
import type { LoggedEvent } from './event.js';
import { logKeys } from './redis-append.js';
import { readerKey } from './redis-reader.js';
import { readStreamEntry, type StreamEntry } from './redis-stream-entry.js';

/**
 * Reads as the one reader of the log: first what was read and not acknowledged, by whomever, then what is new. A group
 * that is gone is made again at the dispatched mark in the same step.
 * KEYS: log, counters, lease. ARGV: group, token, lease in ms, most entries.
 * Answers for how long another still reads; or 0, where a lost group began again or '', and the entries.
 */
const read = new RedisScript(`
local log, counters, lease, group, token, count = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[4]
local holder = redis.call('GET', lease)
if holder and holder ~= token then return {math.max(redis.call('PTTL', lease), 1)} end
redis.call('SET', lease, token, 'PX', ARGV[3])

local last, restarted = nil, ''
if redis.call('EXISTS', log) == 1 then
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', log)) do
    local fields = {}
    for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
    if fields['name'] == group then last = fields['last-delivered-id'] end
  end
end
if not last then
  local mark = redis.call('HGET', counters, 'dispatched')
  last, restarted = mark or '0-0', mark or ''
  redis.call('XGROUP', 'CREATE', log, group, last, 'MKSTREAM')
end

local entries = redis.call('XAUTOCLAIM', log, group, 'reader', 0, '0-0', 'COUNT', count)[2]
if #entries == 0 then
  local new = redis.call('XREADGROUP', 'GROUP', group, 'reader', 'COUNT', count, 'STREAMS', log, '>')
  if new then entries = new[1][2] end
end
return {0, restarted, entries}
`);

/**
 * Acknowledges entries and moves the dispatched mark to the place below which all is acknowledged.
 * The mark outlives the group: a lost group starts again there, and retention never passes it.
 * KEYS: log, counters. ARGV: group, ids.
 */
const acknowledge = new RedisScript(`
local log, counters, group = KEYS[1], KEYS[2], ARGV[1]
for i = 2, #ARGV do redis.call('XACK', log, group, ARGV[i]) end
local pending = redis.call('XPENDING', log, group)
if pending[1] > 0 then
  local ms, n = string.match(pending[2], '^(%d+)-(%d+)$')
  local mark
  if tonumber(n) > 0 then mark = ms .. '-' .. string.format('%d', tonumber(n) - 1)
  else mark = string.format('%d', tonumber(ms) - 1) .. '-18446744073709551615' end
  redis.call('HSET', counters, 'dispatched', mark)
else
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', log)) do
    local fields = {}
    for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
    if fields['name'] == group then redis.call('HSET', counters, 'dispatched', fields['last-delivered-id']) end
  end
end
`);

const leave = new RedisScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
`);

const GROUP = 'dispatch';

/** What a try to read brought: events; nothing new; or that another reads, for at least so many milliseconds. */
export type Reading =
  { kind: 'events'; events: LoggedEvent[] } | { kind: 'nothing' } | { kind: 'elsewhere'; forMs: number };

/**
 * Reads one account's log, at least once each event and in order: of all consumers one reads at a time, under a lease,
 * and what it read and did not acknowledge its successor reads first. Whatever is stored of the events must be stored
 * under the same lease, so that a reader that was paused stores nothing after its successor; see `readerKey`.
 */
export class RedisEventConsumer {
  private readonly log: string;
  private readonly counters: string;
  private readonly lease: string;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
    private readonly account: string,
    /** Unique among all processes. */
    private readonly token: string,
    /** How long it is waited for when it died. */
    private readonly leaseMs: number,
    /** Told when the group was gone (a restored or emptied Redis): what comes after the place is read again. */
    private readonly onRestart: (place: string) => void,
  ) {
    const keys = accountKeys(prefix, account);
    [this.log, , this.counters] = logKeys(keys);
    this.lease = readerKey(keys);
  }

  /** The next events, at most `count`; renews the lease, or takes it if nobody holds it. */
  async take(count: number): Promise<Reading> {
    const reply = await read.run(
      this.redis,
      [this.log, this.counters, this.lease],
      [GROUP, this.token, this.leaseMs, count],
    );
    const [forMs, restarted, entries] = reply as [number, string, StreamEntry[]];
    if (forMs > 0) return { kind: 'elsewhere', forMs };
    if (restarted !== '') this.onRestart(restarted);
    const events = entries.flatMap((entry) => readStreamEntry(this.account, entry) ?? []);
    return events.length === 0 ? { kind: 'nothing' } : { kind: 'events', events };
  }

  /** Says that the events are dealt with for good. */
  async acknowledge(events: readonly LoggedEvent[]): Promise<void> {
    if (events.length === 0) return;
    await acknowledge.run(
      this.redis,
      [this.log, this.counters],
      [GROUP, ...events.map(({ position }) => position)],
    );
  }

  /** Lets another read at once. */
  async leave(): Promise<void> {
    await leave.run(this.redis, [this.lease], [this.token]);
  }
}
