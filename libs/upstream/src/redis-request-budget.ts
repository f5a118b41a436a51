import { accountKeys, pause, type RedisClient, RedisScript } from '#platform';
import { type AdaptiveBudget, BudgetExhaustedError, type RequestClass } from './request-budget.js';

/**
 * A token bucket by Redis' clock, with a second, smaller one that only polls may draw on.
 * Answers 0 when the request may leave, else the milliseconds after which to ask again.
 *
 * The bucket holds a little less than the second's worth that is allowed: between its token and its arrival a request
 * takes a while, now more and now less, and upstream counts arrivals. A class that was made to wait leaves a note, which outlives its next question by
 * far; while the note of a higher class lies there, a lower one yields, except polls that still have tokens of their own
 * fifth, and except where tokens pile up, which says that nobody waits any more. For a poll that waits with a token of
 * its own, the higher classes leave one in the bucket.
 *
 * A budget that upstream's 429 shrank has a `limit` below the rate.
 *
 * KEYS: bucket. ARGV: rate, class (send, read, poll), life of a note in ms. Answers the wait, and whether it is shrunk.
 */
const take = new RedisScript(`
local bucket, rate, kind = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local state = redis.call('HMGET', bucket, 'tokens', 'floor', 'at', 'send', 'read', 'poll', 'limit')
local shrunk = state[7] and 1 or 0
rate = math.min(rate, tonumber(state[7] or rate))
local capacity, floor_capacity = math.max(rate * 0.8, 1), math.max(rate / 5, 1)
local since = math.max(now - tonumber(state[3] or now), 0) / 1000
local tokens = math.min(capacity, tonumber(state[1] or capacity) + since * rate)
local floor = math.min(floor_capacity, tonumber(state[2] or floor_capacity) + since * rate / 5)
local notes = {send = tonumber(state[4] or 0), read = tonumber(state[5] or 0), poll = tonumber(state[6] or 0)}
local function waits(class) return notes[class] > now end

local reserve = (kind ~= 'poll' and waits('poll') and floor >= 1) and 1 or 0
local scarce = tokens < math.min(1 + rate / 4, capacity)
local yields = false
if kind == 'read' then yields = scarce and waits('send') end
if kind == 'poll' then yields = scarce and floor < 1 and (waits('send') or waits('read')) end

local wait = 0
if tokens >= 1 + reserve and not yields then
  tokens = tokens - 1
  if kind == 'poll' then
    floor = math.max(floor - 1, 0)
    redis.call('HSET', bucket, 'poll', 0)
  end
else
  wait = math.ceil(math.max(1 + reserve - tokens, 0) / rate * 1000)
  if yields then wait = math.max(wait, kind == 'poll' and math.ceil((1 - floor) / (rate / 5) * 1000) or math.ceil(1000 / rate)) end
  wait = math.max(wait, 1)
  redis.call('HSET', bucket, kind, string.format('%.3f', now + math.max(2 * wait, tonumber(ARGV[3]))))
end
redis.call('HSET', bucket, 'tokens', string.format('%.6f', tokens), 'floor', string.format('%.6f', floor),
  'at', string.format('%.3f', now))
-- Not before it is full by itself: a lost bucket is a full one.
redis.call('PEXPIRE', bucket, math.max(60000, math.ceil(2000 / rate)))
return {wait, shrunk}
`);

/**
 * Half of what leaves now, never less than a sixteenth of the rate, and an empty bucket: what would leave at once would
 * be refused, too. KEYS: bucket. ARGV: rate, how long in ms further answers belong to the same burst.
 */
const shrink = new RedisScript(`
local bucket, rate = KEYS[1], tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local state = redis.call('HMGET', bucket, 'limit', 'shrunkAt')
if state[2] and now - state[2] < tonumber(ARGV[2]) then return 0 end
local limit = math.max(math.min(rate, tonumber(state[1] or rate)) / 2, rate / 16)
redis.call('HSET', bucket, 'limit', string.format('%.6f', limit), 'shrunkAt', string.format('%.3f', now),
  'tokens', 0, 'at', string.format('%.3f', now))
redis.call('PEXPIRE', bucket, math.max(60000, math.ceil(2000 / limit)))
return 1
`);

/** KEYS: bucket. ARGV: rate, share of it that is given back. Answers whether it is still shrunk. */
const grow = new RedisScript(`
local bucket, rate = KEYS[1], tonumber(ARGV[1])
local limit = redis.call('HGET', bucket, 'limit')
if not limit then return 0 end
limit = tonumber(limit) + rate * ARGV[2]
if limit >= rate then
  redis.call('HDEL', bucket, 'limit')
  return 0
end
redis.call('HSET', bucket, 'limit', string.format('%.6f', limit))
return 1
`);

/** Answers 429 within so long of the first are one burst: those requests left before the budget was shrunk. */
const BURST_MS = 1_000;
/** So large a share of the rate comes back with each good answer. */
const GROWTH = 1 / 50;

/** Between two questions there is at most this, so that a freed token is not left lying. */
const LONGEST_PAUSE_MS = 250;
/** A waiting process that is slow to ask again is still waiting for so long. */
const NOTE_MS = 500;

/** {@link RequestBudget} kept in Redis, so that it holds over all processes. */
export class RedisRequestBudget implements AdaptiveBudget {
  /** The accounts whose budget was shrunk when this process last asked. */
  private readonly shrunk = new Set<string>();

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async acquire(account: string, rate: number, kind: RequestClass, patienceMs: number): Promise<void> {
    const bucket = accountKeys(this.prefix, account)('budget');
    const end = performance.now() + patienceMs;
    for (;;) {
      const reply = await take.run(this.redis, [bucket], [rate, kind, NOTE_MS]);
      const [wait = 0, shrunk = 0] = reply as number[];
      if (shrunk === 1) this.shrunk.add(account);
      if (wait === 0) return;
      if (performance.now() + wait > end) throw new BudgetExhaustedError(wait);
      await pause(Math.min(wait, LONGEST_PAUSE_MS));
    }
  }

  async tooMany(account: string, rate: number): Promise<void> {
    await shrink.run(this.redis, [accountKeys(this.prefix, account)('budget')], [rate, BURST_MS]);
    this.shrunk.add(account);
  }

  async fine(account: string, rate: number): Promise<void> {
    if (!this.shrunk.has(account)) return;
    const still = await grow.run(this.redis, [accountKeys(this.prefix, account)('budget')], [rate, GROWTH]);
    if (still === 0) this.shrunk.delete(account);
  }
}
