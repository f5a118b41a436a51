import { type AccountKeys, hashOf, type RedisClient, RedisScript, redisTime } from '#platform';
import { type DelayHistogram, countOf, mergeHistograms, percentiles } from '../delay/delay-histogram.js';
import { slotsOfWindow } from '../delay/delay-window.js';
import { factsKey, slotKey } from '../delay/redis-poll-report.js';
import type { DetectionDelay, FeedOverview } from '../schedule/feed-overview.js';
import { NOW } from './redis-feed-scripts.js';

/**
 * KEYS: list, due, suspects, deep, rates, facts, slot of delays…
 * Answers time, number of contacts that are polled, number of those that are due, when the first is due, listedAt, since
 * when something is suspect and not believed, unreadable, number of deep reads that are due, when the first of them is
 * due; then why the list cannot be read and since when, rates, facts, and the slots.
 */
const readOverview = new RedisScript(`${NOW}
local now = due_at(0)
local function first_of(index) return redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')[2] or false end
local list = redis.call('HMGET', KEYS[1], 'listedAt', 'unreadable', 'believedAt', 'suspectSince',
  'listFault', 'listFaultSince')
local believed, doubts, since = tonumber(list[3] or '0'), redis.call('HVALS', KEYS[3]), false
if list[4] then doubts[#doubts + 1] = list[4] end
for _, doubt in ipairs(doubts) do
  if tonumber(doubt) > believed and (not since or tonumber(doubt) < tonumber(since)) then since = doubt end
end
local slots = {}
for i = 7, #KEYS do slots[#slots + 1] = redis.call('HGETALL', KEYS[i]) end
return {{now, redis.call('ZCARD', KEYS[2]), redis.call('ZCOUNT', KEYS[2], '-inf', now), first_of(KEYS[2]),
  list[1], since, list[2], redis.call('ZCOUNT', KEYS[4], '-inf', now), first_of(KEYS[4])},
  {list[5], list[6]}, redis.call('HGETALL', KEYS[5]), redis.call('HGETALL', KEYS[6]), slots}
`);

/** How the polling of the account with these keys stands. */
export async function readFeedOverview(redis: RedisClient, keys: AccountKeys): Promise<FeedOverview> {
  const list = keys('contact-list');
  const slots = slotsOfWindow(await redisTime(redis, list));
  const reply = await readOverview.run(
    redis,
    [
      list,
      keys('polls', 'due'),
      keys('suspects'),
      keys('polls', 'deep'),
      keys('polls', 'rates'),
      factsKey(keys),
      ...slots.map((slot) => slotKey(keys, slot)),
    ],
    [],
  );
  const [figures, [reason, since], rates, told, delays] = reply as [
    (string | number | null)[],
    (string | null)[],
    string[],
    string[],
    string[][],
  ];
  const [now = 0, contacts = 0, due = 0, first, listedAt, suspectSince, unreadable, waiting = 0, firstDeep] =
    figures.map((value) => (value === null ? undefined : Number(value)));
  const facts = pairs(told);
  const [min, max] = [facts.get('min'), facts.get('max')];
  return {
    contacts,
    due,
    lagMs: due === 0 ? 0 : now - (first ?? now),
    ...(listedAt === undefined ? {} : { listedAt }),
    ...(reason == null ? {} : { listFault: { reason, since: Number(since) } }),
    ...(suspectSince === undefined ? {} : { suspectSince }),
    unreadable: unreadable ?? 0,
    detectionDelay: detectionDelayOf(delays.map(pairs)),
    rates: histogramOf(pairs(rates)),
    ...(min === undefined || max === undefined ? {} : { interval: { minMs: min, maxMs: max } }),
    deep: { waiting, lagMs: waiting === 0 ? 0 : now - (firstDeep ?? now) },
    skipped: facts.get('skipped') ?? 0,
  };
}

function detectionDelayOf(slots: readonly ReadonlyMap<string, number>[]): DetectionDelay {
  const delays = mergeHistograms(slots.map(histogramOf));
  const [p50Ms, p95Ms] = percentiles(delays, [0.5, 0.95]);
  const sumOf = (field: string): number => slots.reduce((sum, slot) => sum + (slot.get(field) ?? 0), 0);
  return {
    ...(p50Ms === undefined || p95Ms === undefined ? {} : { p50Ms, p95Ms }),
    count: countOf(delays),
    estimated: sumOf('estimated'),
    late: sumOf('late'),
  };
}

/** A reply of HGETALL whose values are numbers. */
function pairs(reply: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...hashOf(reply)].map(([field, value]) => [field, Number(value)]));
}

/** The fields that are named by a bucket. */
function histogramOf(fields: ReadonlyMap<string, number>): DelayHistogram {
  return new Map(
    [...fields]
      .filter(([name, count]) => /^\d+$/.test(name) && count > 0)
      .map(([name, count]) => [Number(name), count]),
  );
}
