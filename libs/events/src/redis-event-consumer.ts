import { accountKeys, type RedisClient, RedisScript } from '#platform';
import type { LoggedEvent } from './event.js';
import { logKeys } from './redis-append.js';
import { readStreamEntry, type StreamEntry } from './redis-stream-entry.js';

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

/** KEYS: log. ARGV: group, idle for at least so many ms, only this one or '' for any. */
const dropIdleConsumers = new RedisScript(`
local log, group, idle, only = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]
if redis.call('EXISTS', log) == 0 then return 0 end
local known = false
for _, info in ipairs(redis.call('XINFO', 'GROUPS', log)) do
  for i = 1, #info, 2 do known = known or (info[i] == 'name' and info[i + 1] == group) end
end
if not known then return 0 end
for _, info in ipairs(redis.call('XINFO', 'CONSUMERS', log, group)) do
  local consumer = {}
  for i = 1, #info, 2 do consumer[info[i]] = info[i + 1] end
  if consumer.pending == 0 and consumer.idle >= idle and (only == '' or only == consumer.name) then
    redis.call('XGROUP', 'DELCONSUMER', log, group, consumer.name)
  end
end
`);

const GROUP = 'dispatch';

/**
 * Hands each event of one account's log to one of several consumers, at least once: an event stays with its consumer
 * until it is acknowledged, and what a consumer left for longer than `claimAfterMs` goes to another.
 * The connection is used for blocking reads and belongs to this consumer alone.
 */
export class RedisEventConsumer {
  private readonly log: string;
  private readonly counters: string;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
    private readonly account: string,
    /** Unique among all processes. */
    private readonly name: string,
    private readonly claimAfterMs: number,
  ) {
    [this.log, , this.counters] = logKeys(accountKeys(prefix, account));
  }

  /**
   * The next events, at most `count`: first what dead consumers left, then new ones, waiting up to `waitMs` for them.
   * A group that is gone (a restored or emptied Redis) is made again at the dispatched mark.
   */
  async take(count: number, waitMs: number): Promise<LoggedEvent[]> {
    try {
      const left = await this.claim(count);
      return left.length > 0 ? left : await this.readNew(count, waitMs);
    } catch (error) {
      if (!(error instanceof Error) || !/^(NOGROUP|UNBLOCKED)/.test(error.message)) throw error;
      await this.createGroup();
      return [];
    }
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

  /** Takes this consumer out of the group, unless events are still with it: then others claim them. */
  async leave(): Promise<void> {
    await dropIdleConsumers.run(this.redis, [this.log], [GROUP, 0, this.name]);
  }

  /** Forgets consumers that were not heard of for `ms` milliseconds and left nothing behind. */
  async forgetIdle(ms: number): Promise<void> {
    await dropIdleConsumers.run(this.redis, [this.log], [GROUP, ms, '']);
  }

  private async claim(count: number): Promise<LoggedEvent[]> {
    const reply = (await this.redis.xautoclaim(
      this.log,
      GROUP,
      this.name,
      this.claimAfterMs,
      '0-0',
      'COUNT',
      count,
    )) as [string, StreamEntry[]];
    return this.events(reply[1]);
  }

  private async readNew(count: number, waitMs: number): Promise<LoggedEvent[]> {
    const reply = await this.redis.xreadgroup(
      'GROUP',
      GROUP,
      this.name,
      'COUNT',
      count,
      'BLOCK',
      waitMs,
      'STREAMS',
      this.log,
      '>',
    );
    return this.events(reply?.[0]?.[1] ?? []);
  }

  private events(entries: readonly StreamEntry[]): LoggedEvent[] {
    return entries.flatMap((entry) => readStreamEntry(this.account, entry) ?? []);
  }

  private async createGroup(): Promise<void> {
    const mark = (await this.redis.hget(this.counters, 'dispatched')) ?? '0-0';
    try {
      await this.redis.xgroup('CREATE', this.log, GROUP, mark, 'MKSTREAM');
    } catch (error) {
      // Another consumer was faster.
      if (!(error instanceof Error) || !error.message.startsWith('BUSYGROUP')) throw error;
    }
  }
}
