import { type AccountKeys, parseRedisHashReply, LuaScript, type RedisClient, readRedisTime } from '#platform';
import {
  type DelayHistogram,
  countDelays,
  mergeDelayHistograms,
  delayPercentiles,
} from '../delay/delay-histogram.js';
import { timeSlotNumbersOfLastHour } from '../delay/delay-window.js';
import { pollStatisticsRedisKey, delayHistogramRedisKey } from '../delay/redis-poll-report.js';
import type { DetectionDelay, FeedOverview } from '../schedule/feed-overview.js';
import { parseUnreadableElementHistory } from '../snapshot/unreadable-elements.js';

const readOverviewScript = LuaScript.from(import.meta.url, 'lua/feed-overview.lua');

type Figure = string | number | null;

interface OverviewReply {
  now: Figure;
  contacts: Figure;
  due: Figure;
  first: Figure;
  listedAt: Figure;
  suspectSince: Figure;
  unreadable: Figure;
  unreadableListed: string | null;
  waiting: Figure;
  firstDeep: Figure;
  fault: string | null;
  faultSince: string | null;
  rates: string[];
  facts: string[];
  slots: string[][];
}

/** Reads figures about an account's polling for `GET /v1/status`. */
export async function readFeedOverview(redis: RedisClient, keys: AccountKeys): Promise<FeedOverview> {
  const list = keys('contact-list');
  const slots = timeSlotNumbersOfLastHour(await readRedisTime(redis, list));
  const reply = (await readOverviewScript.run(redis, {
    list,
    due: keys('polls', 'due'),
    suspects: keys('suspects'),
    deep: keys('polls', 'deep'),
    rates: keys('polls', 'rates'),
    facts: pollStatisticsRedisKey(keys),
    slots: slots.map((slot) => delayHistogramRedisKey(keys, slot)),
  })) as OverviewReply;
  const { fault, faultSince, rates, slots: delays } = reply;
  const [now = 0, contacts = 0, due = 0, waiting = 0, unreadable = 0] = [
    ...[reply.now, reply.contacts, reply.due, reply.waiting, reply.unreadable],
  ].map(numberOf);
  const [first, firstDeep, listedAt, suspectSince] = [
    ...[reply.first, reply.firstDeep, reply.listedAt, reply.suspectSince],
  ].map(numberOf);
  const facts = pairs(reply.facts);
  const [min, max] = [facts.get('min'), facts.get('max')];
  return {
    contacts,
    due,
    lagMs: due === 0 ? 0 : now - (first ?? now),
    ...(listedAt === undefined ? {} : { listedAt }),
    ...(fault === null ? {} : { listFault: { reason: fault, since: Number(faultSince) } }),
    ...(suspectSince === undefined ? {} : { suspectSince }),
    unreadable,
    unreadableContacts: parseUnreadableElementHistory(reply.unreadableListed, 0).count,
    detectionDelay: detectionDelayOf(delays.map(pairs)),
    rates: histogramOf(pairs(rates)),
    ...(min === undefined || max === undefined ? {} : { interval: { minMs: min, maxMs: max } }),
    deep: { waiting, lagMs: waiting === 0 ? 0 : now - (firstDeep ?? now) },
    skipped: facts.get('skipped') ?? 0,
  };
}

function numberOf(figure: Figure): number | undefined {
  return figure === null ? undefined : Number(figure);
}

function detectionDelayOf(slots: readonly ReadonlyMap<string, number>[]): DetectionDelay {
  const delays = mergeDelayHistograms(slots.map(histogramOf));
  const [p50Ms, p95Ms] = delayPercentiles(delays, [0.5, 0.95]);
  const sumOf = (field: string): number => slots.reduce((sum, slot) => sum + (slot.get(field) ?? 0), 0);
  return {
    ...(p50Ms === undefined || p95Ms === undefined ? {} : { p50Ms, p95Ms }),
    count: countDelays(delays),
    estimated: sumOf('estimated'),
    late: sumOf('late'),
  };
}

/** Converts HGETALL's reply to a map from field to value. All values must be numbers. */
function pairs(reply: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...parseRedisHashReply(reply)].map(([field, value]) => [field, Number(value)]));
}

/**
 * Converts fields of a hash to a histogram from bucket number to count. Leaves out empty buckets and fields
 * whose name is not a number.
 */
function histogramOf(fields: ReadonlyMap<string, number>): DelayHistogram {
  return new Map(
    [...fields]
      .filter(([name, count]) => /^\d+$/.test(name) && count > 0)
      .map(([name, count]) => [Number(name), count]),
  );
}
