import { accountKeys, pause, type RedisClient, RedisScript } from '#platform';
import { BudgetExhaustedError, type RequestBudget, type RequestClass } from './request-budget.js';

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
 * KEYS: bucket. ARGV: rate, class (send, read, poll), life of a note in ms.
 */
const take = new RedisScript(`
local bucket, rate, kind = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local state = redis.call('HMGET', bucket, 'tokens', 'floor', 'at', 'send', 'read', 'poll')
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
redis.call('PEXPIRE', bucket, 60000)
return wait
`);

/** Between two questions there is at most this, so that a freed token is not left lying. */
const LONGEST_PAUSE_MS = 250;
/** A waiting process that is slow to ask again is still waiting for so long. */
const NOTE_MS = 500;

/** {@link RequestBudget} kept in Redis, so that it holds over all processes. */
export class RedisRequestBudget implements RequestBudget {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async acquire(account: string, rate: number, kind: RequestClass, patienceMs: number): Promise<void> {
    const bucket = accountKeys(this.prefix, account)('budget');
    const end = performance.now() + patienceMs;
    for (;;) {
      const wait = Number(await take.run(this.redis, [bucket], [rate, kind, NOTE_MS]));
      if (wait === 0) return;
      if (performance.now() + wait > end) throw new BudgetExhaustedError(wait);
      await pause(Math.min(wait, LONGEST_PAUSE_MS));
    }
  }
}
