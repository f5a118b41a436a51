import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { closeRedis, newId, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { BudgetExhaustedError, RedisRequestBudget, type RequestClass } from '#upstream';
import {
  BUDGET_TOKEN_TTL_MS,
  MAX_BUDGET_TOKEN_RETRY_PAUSE_MS,
  MAX_POLL_TOKEN_RETRY_PAUSE_MS,
} from '../../../libs/upstream/src/budget/request-budget.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { redisWithClock } from '../../support/redis-with-clock.js';

/** Differences of the network's latency for which the budget allows, in milliseconds. */
const LATENCY_MS = 100;

let server: TestRedis;
let client: RedisClient;
/** The budgets of three processes. Their scripts read {@link now} as the time. */
let budgets: RedisRequestBudget[];
let prefix: string;
/** Time in milliseconds since 1970. It passes only while the tests let it pass. */
let now: number;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  prefix = newId('req');
  now = Date.UTC(2026, 0, 1);
  client = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
  await once(client, 'ready');
  budgets = [1, 2, 3].map(
    () =>
      new RedisRequestBudget(
        redisWithClock(client, () => now),
        prefix,
      ),
  );
});
afterEach(async () => {
  await closeRedis(client);
});

interface Grant {
  at: number;
  kind: RequestClass;
}

/**
 * Requests tokens with this many callers per process for this long by the clock of the test, however busy the machine
 * is. Returns the granted tokens.
 */
async function hammer(
  rate: number,
  callers: Partial<Record<RequestClass, number>>,
  ms: number,
): Promise<Grant[]> {
  const granted: Grant[] = [];
  const [begin, end] = [now, now + ms];
  const kinds = Object.entries(callers) as [RequestClass, number][];
  let callersInTurn = budgets.flatMap((budget) =>
    kinds.flatMap(([kind, count]) => Array.from({ length: count }, () => ({ budget, kind, at: begin }))),
  );
  for (;;) {
    const next = callersInTurn.reduce((first, one) => (one.at < first.at ? one : first));
    if (next.at >= end) break;
    now = next.at;
    const { waitMs } = await next.budget.tryAcquire('a', rate, next.kind);
    if (waitMs === 0) granted.push({ at: now, kind: next.kind });
    const isPoll = next.kind !== 'send' && next.kind !== 'read';
    next.at += Math.min(waitMs, isPoll ? MAX_POLL_TOKEN_RETRY_PAUSE_MS : MAX_BUDGET_TOKEN_RETRY_PAUSE_MS);
    callersInTurn = [...callersInTurn.filter((one) => one !== next), next];
  }
  now = end;
  return granted;
}

const count = (granted: readonly Grant[], kind: RequestClass): number =>
  granted.filter((one) => one.kind === kind).length;

/**
 * Returns the index of each grant that begins a period with too many grants. Requests that upstream receives within
 * `t` seconds may be granted within a longer time: `t` plus the maximum difference of the delays of two requests.
 */
function tooMany(granted: readonly Grant[], rate: number): number[] {
  const laterMs = BUDGET_TOKEN_TTL_MS + LATENCY_MS;
  return granted.flatMap((first, i) => {
    const isOver = granted.slice(i).some(({ at }, n) => {
      const seconds = Math.max(at - first.at - laterMs, 0) / 1_000;
      return n + 1 > rate * seconds + Math.max(rate, 1) + 1e-6;
    });
    return isOver ? [i] : [];
  });
}

describe('the budget of an account', () => {
  it('stays in Redis at least until its token bucket is full again, even at a very low rate', async () => {
    const [budget] = budgets;
    await budget?.acquire('a', 0.01, 'send', 0);
    expect(await client.pttl(`${prefix}:{a}:budget`)).toBeGreaterThan(100_000);
    await budget?.shrink('a', 0.01);
    expect(await client.pttl(`${prefix}:{a}:budget`)).toBeGreaterThan(200_000);
  });

  it.each([
    { rate: 0.2, atOnce: 1, allowed: 1 / 5.2 },
    { rate: 0.5, atOnce: 1, allowed: 1 / 2.2 },
    { rate: 1, atOnce: 1, allowed: 1 / 1.2 },
    { rate: 1.1, atOnce: 1, allowed: 1 / (2 / 1.1 - 0.8) },
    { rate: 1.25, atOnce: 1, allowed: 1.25 },
    { rate: 2, atOnce: 1, allowed: 2 },
    { rate: 20, atOnce: 16, allowed: 20 },
    { rate: 50, atOnce: 40, allowed: 50 },
  ])(
    'of $rate requests per second grants $atOnce at once and then $allowed per second, so that upstream receives at most rate × t + max(rate, 1) requests in any t seconds',
    async ({ rate, atOnce, allowed }) => {
      const ms = Math.max(2_500, 5_000 / allowed + 500);
      const granted = await hammer(rate, { send: 1, read: 1, poll: 1 }, ms);
      expect(tooMany(granted, rate)).toEqual([]);
      expect(granted.filter(({ at }) => at === granted[0]?.at)).toHaveLength(atOnce);
      expect((await budgets[0]?.usage('a', rate))?.allowed).toBeCloseTo(allowed, 6);
      const most = Math.floor(atOnce + (allowed * ms) / 1_000);
      expect(granted.length).toBeLessThanOrEqual(most);
      expect(granted.length).toBeGreaterThan(most * 0.95);
    },
  );

  it('reserves a fifth of the requests for polls during a flood of sends', async () => {
    await hammer(50, { send: 4 }, 300);
    const granted = await hammer(50, { send: 4, poll: 1 }, 2_000);
    const share = count(granted, 'poll') / granted.length;
    expect(share).toBeGreaterThan(0.14);
    expect(share).toBeLessThan(0.3);
  });

  it('reserves a fifth of the requests for polls during a flood of sends and of reads that API callers request', async () => {
    await hammer(50, { send: 2, read: 2 }, 300);
    const granted = await hammer(50, { send: 2, read: 2, poll: 1 }, 2_000);
    expect(count(granted, 'poll') / granted.length).toBeGreaterThan(0.14);
  });

  it('gives far more requests to sends than to reads that API callers request', async () => {
    await hammer(50, { send: 1 }, 300);
    const granted = await hammer(50, { send: 3, read: 3 }, 1_500);
    expect(count(granted, 'send')).toBeGreaterThan(count(granted, 'read') * 4);
  });

  it('gives more tokens to reads that API callers request than to polls, but reserves a fifth of the tokens for polls', async () => {
    await hammer(50, { read: 1 }, 300);
    const granted = await hammer(50, { read: 3, poll: 3 }, 1_500);
    expect(count(granted, 'read')).toBeGreaterThan(count(granted, 'poll') * 2);
  });

  it('gives all requests to polls while no other request waits', async () => {
    const granted = await hammer(50, { poll: 2 }, 1_000);
    expect(granted.length).toBeGreaterThan(85);
  });

  it('keeps enough tokens for a burst of polls, because reads of older messages get only the tokens that a full bucket cannot hold', async () => {
    const rate = 20;
    await hammer(rate, { deep: 4 }, 1_500);
    // The bucket holds 16 tokens.
    for (let i = 0; i < 12; i += 1) await budgets[i % 3]?.acquire('a', rate, 'poll', 0);
    // First the bucket fills up again.
    expect((await hammer(rate, { deep: 4 }, 2_000)).length).toBeGreaterThan((rate * 2 - 12) * 0.8);
  });

  it('counts requests made before a reduction of the rate as if they had been made at the reduced rate', async () => {
    const [budget] = budgets;
    await hammer(400, { read: 2 }, 500);
    // As after a minute at the full rate that ended twenty seconds ago: two half-lives.
    const bucket = `${prefix}:{a}:budget`;
    const averagedAt = Number(await client.hget(bucket, 'averagedAt'));
    await client.hset(bucket, 'other', 400 * 14.4, 'averagedAt', averagedAt - 20_000);
    expect((await budget?.usage('a', 20))?.availableForPolls).toBeCloseTo(15, 0);
  });

  it('rejects at once a request that would have to wait too long, and says when to retry', async () => {
    const [budget] = budgets;
    await budget?.acquire('a', 2, 'send', 0);
    const attempts = budget === undefined ? undefined : jest.spyOn(budget, 'tryAcquire');
    const refused: unknown = await budget?.acquire('a', 2, 'send', 100).catch((error: unknown) => error);
    expect(attempts).toHaveBeenCalledTimes(1);
    expect(refused).toBeInstanceOf(BudgetExhaustedError);
    // The bucket holds 1.6 tokens.
    expect((refused as BudgetExhaustedError).retryAfterMs).toBe(200);
  });

  it('grants a request that waits for its token', async () => {
    const budget = new RedisRequestBudget(client, prefix);
    for (let i = 0; i < 20; i += 1) await budget.acquire('a', 20, 'send', 60_000);
  });

  it('counts a returned token only once, whether it is returned alone or together with a request for another token', async () => {
    const [budget] = budgets;
    const wait = async (unused = 0): Promise<number | undefined> =>
      (await budget?.tryAcquire('a', 1, 'poll', unused))?.waitMs;
    expect([await wait(), await wait()]).toEqual([0, 1_200]);
    expect([await wait(1), await wait()]).toEqual([0, 1_200]);
    await budget?.returnToken('a', 1);
    expect([await wait(), await wait()]).toEqual([0, 1_200]);
  });

  it('is separate from the budgets of other accounts', async () => {
    const [budget] = budgets;
    await budget?.acquire('a', 1, 'send', 0);
    await budget?.acquire('b', 1, 'send', 0);
    await expect(budget?.acquire('a', 1, 'send', 0)).rejects.toThrow(BudgetExhaustedError);
  });
});

describe('the budget of an account, which adapts to upstream’s rate limit,', () => {
  const rate = 40;
  const leave = async (ms: number): Promise<number> => (await hammer(rate, { send: 4, poll: 1 }, ms)).length;

  it('is halved for all processes by a burst of 429 replies, and grows back with successful replies', async () => {
    const [one, two] = budgets;
    await leave(300);
    const before = await leave(1_500);
    await Promise.all([one?.shrink('a', rate), two?.shrink('a', rate), one?.shrink('a', rate)]);
    const after = await leave(1_500);
    expect(after).toBeLessThan(before * 0.7);
    expect(after).toBeGreaterThan(before * 0.3);
    for (let i = 0; i < 50; i += 1) await two?.grow('a', rate);
    expect(await client.hget(`${prefix}:{a}:budget`, 'limit')).toBeNull();
    expect(await leave(1_500)).toBeGreaterThan(before * 0.7);
  });

  it("is halved by a 429 reply even if Redis' clock was set back after the previous 429 reply", async () => {
    const [one] = budgets;
    const budget = `${prefix}:{a}:budget`;
    await one?.shrink('a', rate);
    await client.hincrbyfloat(budget, 'shrunkAt', 3_600_000);
    await one?.shrink('a', rate);
    expect(Number(await client.hget(budget, 'limit'))).toBe(rate / 4);
  });

  it("grants requests of a lower class again if Redis' clock was set back while a request of a higher class waited", async () => {
    const [one] = budgets;
    await one?.acquire('a', 1, 'send', 0);
    await expect(one?.acquire('a', 1, 'send', 0)).rejects.toThrow(BudgetExhaustedError);
    now -= 3_600_000;
    await one?.tryAcquire('a', 1, 'read');
    now += 5_000;
    expect((await one?.tryAcquire('a', 1, 'read'))?.waitMs).toBe(0);
  });

  it('never falls below a sixteenth of the configured rate, and grows by a fiftieth of the configured rate at each success', async () => {
    const [one] = budgets;
    const limit = async (): Promise<number> => Number(await client.hget(`${prefix}:{a}:budget`, 'limit'));
    for (let i = 0; i < 8; i += 1) {
      await one?.shrink('a', rate);
      // As if the burst was some time ago.
      await client.hset(`${prefix}:{a}:budget`, 'shrunkAt', 0);
    }
    expect(await limit()).toBe(rate / 16);
    await one?.grow('a', rate);
    expect(await limit()).toBeCloseTo(rate / 16 + rate / 50);
    expect((await one?.tryAcquire('a', rate, 'send'))?.waitMs).toBe(
      Math.ceil(1_000 / (rate / 16 + rate / 50)),
    );
  });
});
