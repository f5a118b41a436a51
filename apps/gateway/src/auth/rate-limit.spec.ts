import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { checkRedisRequirements } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestCluster } from '../../../../test/support/redis-cluster.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import {
  EMPTY_KEY,
  json,
  KEY,
  OTHER_KEY,
  problemOf,
  startTestGateway,
  type TestGateway,
} from '../fixtures/gateway.js';

const LIMIT = 5;
const SEND = json({ phoneNumber: '+14155550123', message: 'hi' });

let redis: TestRedis;
let one: TestGateway;
let two: TestGateway;

const start = (redisUrl: string): Promise<TestGateway> =>
  startTestGateway({ redisUrl, environment: { RATE_LIMIT_PER_MINUTE: String(LIMIT) } });

beforeAll(async () => {
  redis = await startTestRedis();
  [one, two] = await Promise.all([start(redis.url), start(redis.url)]);
});
afterAll(async () => {
  await Promise.all([one.dispose(), two.dispose()]);
  await redis.dispose();
});
beforeEach(async () => {
  // The test before may have stopped Redis.
  for (const gateway of [one, two]) await eventually('Redis is empty', () => gateway.redis.flushall());
});

const statuses = async (count: number, ask: (i: number) => Promise<Response>): Promise<number[]> =>
  await Promise.all(Array.from({ length: count }, async (_, i) => (await ask(i)).status));
const allowed = (all: readonly number[]): number => all.filter((status) => status !== 429).length;

describe('the rate limit of an API key', () => {
  it('counts the requests to all gateways together, and a rejected request gets a Retry-After header', async () => {
    const all = await statuses(2 * LIMIT, (i) =>
      i % 2 === 0 ? one.fetch('/v1/sends') : two.fetch('/v1/messages/send', SEND),
    );
    expect(allowed(all)).toBe(LIMIT);
    const refused = await two.fetch('/v1/sends');
    expect(await problemOf(refused)).toMatchObject({ status: 429, code: 'rate_limited' });
    const again = Number(refused.headers.get('retry-after'));
    expect(again).toBeGreaterThan(0);
    expect(again).toBeLessThanOrEqual(60);
  });

  it('does not affect requests with other API keys', async () => {
    await statuses(LIMIT + 1, () => one.fetch('/v1/sends'));
    expect((await one.fetch('/v1/sends')).status).toBe(429);
    expect((await one.fetch('/v1/sends', { key: OTHER_KEY })).status).toBe(200);
  });

  it('is in the headers of every response: the limit, the remaining requests and the seconds until the reset', async () => {
    const limitHeaders = ({ headers }: Response): (number | null)[] =>
      ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`ratelimit-${name}`)));
    const begun = Date.now();
    const replies = [await one.fetch('/v1/sends'), await two.fetch('/v1/sends/nothing')];
    expect(replies.map(({ status }) => status)).toEqual([200, 404]);
    expect(replies.map((reply) => limitHeaders(reply).slice(0, 2))).toEqual([
      [LIMIT, LIMIT - 1],
      [LIMIT, LIMIT - 2],
    ]);
    const [key = ''] = await one.redis.keys('tidings:rate:*');
    const resetMs = await one.redis.pexpiretime(key);
    for (const reply of replies) {
      // The response came between the first request and now.
      const seconds = limitHeaders(reply)[2] ?? 0;
      expect(seconds).toBeGreaterThanOrEqual(Math.ceil((resetMs - Date.now()) / 1_000));
      expect(seconds).toBeLessThanOrEqual(Math.ceil((resetMs - begun) / 1_000));
      expect(seconds).toBeGreaterThan(0);
    }
    await statuses(LIMIT, () => one.fetch('/v1/sends'));
    expect(limitHeaders(await one.fetch('/v1/sends')).slice(0, 2)).toEqual([LIMIT, 0]);
  });

  it('also counts requests without the required scope: 429 takes precedence over 403', async () => {
    const all = await statuses(LIMIT + 1, () => one.fetch('/v1/sends', { key: EMPTY_KEY }));
    expect([...all].sort()).toEqual([...Array<number>(LIMIT).fill(403), 429]);
  });

  it('does not apply to requests without a valid key, and such requests store nothing in Redis', async () => {
    const all = await statuses(3 * LIMIT, (i) => one.fetch('/v1/sends', { key: `nobodys-${i}` }));
    expect(new Set(all)).toEqual(new Set([401]));
    expect((await one.redis.keys('*')).filter((key) => key.includes('rate'))).toEqual([]);
  });

  it('resets after one minute, and every counter in Redis expires', async () => {
    await one.fetch('/v1/sends');
    const [key = ''] = await one.redis.keys('tidings:rate:*');
    expect(key).toBe(`tidings:rate:id-of-${KEY}`);
    expect(await one.redis.pttl(key)).toBeGreaterThan(0);
    // Simulates the end of the minute. An expiry in the past removes the key within the command.
    expect(await one.redis.pexpireat(key, 1)).toBe(1);
    expect(await one.redis.exists(key)).toBe(0);
    expect((await one.fetch('/v1/sends')).headers.get('ratelimit-remaining')).toBe(String(LIMIT - 1));
  });

  it("starts again if Redis' clock was set back", async () => {
    await statuses(LIMIT + 1, () => one.fetch('/v1/sends'));
    const [key = ''] = await one.redis.keys('tidings:rate:*');
    await one.redis.pexpire(key, 3_600_000);
    const { status, headers } = await one.fetch('/v1/sends');
    expect(status).toBe(200);
    expect(Number(headers.get('ratelimit-reset'))).toBeLessThanOrEqual(60);
  });

  it('is counted in the memory of the gateway while Redis is full; read requests below the limit still succeed', async () => {
    await one.redis.config('SET', 'maxmemory', '1mb');
    try {
      const all = await statuses(LIMIT + 2, () => one.fetch('/v1/sends'));
      expect([...all].sort()).toEqual([...Array<number>(LIMIT).fill(200), 429, 429]);
    } finally {
      await one.redis.config('SET', 'maxmemory', '0');
    }
    expect((await one.fetch('/v1/sends')).status).toBe(200);
  });

  it.each(['SIGSTOP', 'SIGKILL'] as const)(
    'does not delay the 503 response by more than two seconds while Redis is unavailable (after the signal %s)',
    async (signal) => {
      redis.server.kill(signal);
      try {
        const began = performance.now();
        const reply = await one.fetch('/v1/sends');
        expect(await problemOf(reply)).toMatchObject({ status: 503, code: 'unavailable' });
        expect(performance.now() - began).toBeLessThan(2_000);
      } finally {
        if (signal === 'SIGSTOP') redis.server.kill('SIGCONT');
        else await redis.server.restart();
      }
    },
  );
});

describe('the rate limit of an API key on a Redis Cluster', () => {
  it('counts the requests to all gateways together', async () => {
    const cluster = await startTestCluster();
    const [a, b] = await Promise.all([start(cluster.url), start(cluster.url)]);
    try {
      // Every start of a gateway does this: it opens the connections to all masters.
      for (const { redis: connection } of [a, b]) await checkRedisRequirements(connection);
      const all = await statuses(2 * LIMIT, (i) => (i % 2 === 0 ? a : b).fetch('/v1/sends'));
      expect([...all].sort()).toEqual([...Array<number>(LIMIT).fill(200), ...Array<number>(LIMIT).fill(429)]);
    } finally {
      await Promise.all([a.dispose(), b.dispose()]);
      await cluster.dispose();
    }
  });
});
