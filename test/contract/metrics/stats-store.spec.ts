import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisAccountEraser } from '#accounts';
import {
  PER_MINUTE_COUNT_NAMES,
  type MinuteCounts,
  minuteNumberAt,
  createZeroCounts,
  RedisStatsStore,
  STATISTICS_PERIOD_MINUTES,
  type StatsStore,
} from '#metrics';
import { closeRedis, newId, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { MemoryStatsStore } from '../../support/memory-stats-store.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

const counts = (given: Partial<MinuteCounts>): MinuteCounts => ({ ...createZeroCounts(), ...given });

let server: TestRedis;
let redis: RedisClient;
let prefix: string;

beforeAll(async () => {
  server = await startTestRedis();
  redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
  await once(redis, 'ready');
});
afterAll(async () => {
  await closeRedis(redis);
  await server.dispose();
});
beforeEach(() => {
  prefix = newId('req');
});

describe.each([
  ['memory', (): StatsStore => new MemoryStatsStore()],
  ['Redis', (): StatsStore => new RedisStatsStore(redis, prefix)],
])('The statistics in %s', (_, open) => {
  let store: StatsStore;
  /** The current minute by the clock of the store. */
  let minute: number;

  beforeEach(async () => {
    store = open();
    minute = minuteNumberAt((await store.read('a')).now);
  });

  it('are empty before the first count', async () => {
    expect((await store.read('a')).minutes).toEqual(new Map());
  });

  it('contain every count that was added for a minute', async () => {
    const all = Object.fromEntries(PER_MINUTE_COUNT_NAMES.map((name, i) => [name, i + 1])) as MinuteCounts;
    await store.add('a', new Map([[minute, all]]));
    expect((await store.read('a')).minutes).toEqual(new Map([[minute, all]]));
  });

  it('contain, for each minute, the sum of all added counts and the maximum of all added delays and backlogs', async () => {
    const write = (given: Partial<MinuteCounts>): Promise<void> =>
      store.add(
        'a',
        new Map([
          [minute, counts(given)],
          [minute - 1, counts({ sendsCreated: 1 })],
        ]),
      );
    await write({ detectionDelays: 1, detectionDelaySumMs: 700, detectionDelayMaxMs: 700, backlogSends: 3 });
    await write({ detectionDelays: 2, detectionDelaySumMs: 300, detectionDelayMaxMs: 200, backlogSends: 9 });
    await write({ requestsUsed: 5, backlogSends: 4 });
    expect((await store.read('a')).minutes).toEqual(
      new Map([
        [minute - 1, counts({ sendsCreated: 3 })],
        [
          minute,
          counts({
            ...{ detectionDelays: 3, detectionDelaySumMs: 1_000, detectionDelayMaxMs: 700 },
            ...{ backlogSends: 9, requestsUsed: 5 },
          }),
        ],
      ]),
    );
  });

  it('lose no count when several processes add counts at the same time', async () => {
    const one = new Map([[minute, counts({ eventsTotal: 1 })]]);
    await Promise.all(Array.from({ length: 50 }, () => store.add('a', one)));
    expect((await store.read('a')).minutes.get(minute)?.eventsTotal).toBe(50);
  });

  it('contain no counts for minutes that are too old or too far in the future', async () => {
    const given = [-1, 0, STATISTICS_PERIOD_MINUTES - 1, STATISTICS_PERIOD_MINUTES + 5, -5].map(
      (age): [number, MinuteCounts] => [minute - age, counts({ sendsSent: 1 })],
    );
    await store.add('a', new Map(given));
    const kept = [...(await store.read('a')).minutes.keys()].sort();
    expect(kept).toEqual([minute - STATISTICS_PERIOD_MINUTES + 1, minute, minute + 1]);
  });

  it('are separate for each account', async () => {
    await store.add('a', new Map([[minute, counts({ sendsSent: 1 })]]));
    expect((await store.read('b')).minutes).toEqual(new Map());
  });
});

describe('The statistics in Redis', () => {
  const key = (): string => `${prefix}:{a}:stats`;
  const now = async (): Promise<number> =>
    minuteNumberAt((await new RedisStatsStore(redis, prefix).read('a')).now);

  it('are stored in one hash with a field per minute; the hash expires, and each addition removes the fields that are older than an hour', async () => {
    const store = new RedisStatsStore(redis, prefix);
    const minute = await now();
    // An hour of minutes, and what an earlier hour left.
    const old = Array.from({ length: 100 }, (_, i) => [String(minute - 1 - i), '\x91\x01']).flat();
    await redis.hset(key(), ...old);
    await store.add('a', new Map([[minute, counts({ sendsSent: 1 })]]));
    // The test may run across the end of a minute.
    expect(await redis.hlen(key())).toBeLessThanOrEqual(STATISTICS_PERIOD_MINUTES + 1);
    expect(await redis.hlen(key())).toBeGreaterThanOrEqual(STATISTICS_PERIOD_MINUTES);
    const ttl = await redis.pttl(key());
    expect(ttl).toBeGreaterThan(STATISTICS_PERIOD_MINUTES * 60_000);
    expect(ttl).toBeLessThanOrEqual((STATISTICS_PERIOD_MINUTES + 2) * 60_000);
  });

  it('take less than 10 KB for a busy account', async () => {
    const store = new RedisStatsStore(redis, prefix);
    const minute = await now();
    const busy = Object.fromEntries(PER_MINUTE_COUNT_NAMES.map((name) => [name, 60_000])) as MinuteCounts;
    await store.add('a', new Map(Array.from({ length: 61 }, (_, i) => [minute - i, busy])));
    expect(await redis.memory('USAGE', key(), 'SAMPLES', 0)).toBeLessThan(10_000);
  });

  it('keep the additional counts that a later build has stored', async () => {
    const store = new RedisStatsStore(redis, prefix);
    const minute = await now();
    await store.add('a', new Map([[minute, counts({ sendsCreated: 1, backlogDeliveries: 2 })]]));
    const later = `redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack({${[...PER_MINUTE_COUNT_NAMES, 'new'].map((_, i) => i + 1).join()}}))`;
    await redis.eval(later, 1, key(), minute);
    await store.add('a', new Map([[minute, counts({ sendsCreated: 1 })]]));
    const read = `return cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1]))`;
    const numbers = (await redis.eval(read, 1, key(), minute)) as number[];
    expect([numbers[0], numbers.at(-1)]).toEqual([2, PER_MINUTE_COUNT_NAMES.length + 1]);
    expect((await store.read('a')).minutes.get(minute)?.sendsCreated).toBe(2);
  });

  it('are erased with their account', async () => {
    const store = new RedisStatsStore(redis, prefix);
    await store.add('a', new Map([[await now(), counts({ sendsSent: 1 })]]));
    await new RedisAccountEraser(redis, prefix).pass('a', () => Promise.resolve(true));
    expect(await redis.exists(key())).toBe(0);
  });
});
