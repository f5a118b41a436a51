import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { closeRedis, newId, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { BudgetExhaustedError, RedisRequestBudget, type RequestClass } from '#upstream';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

let server: TestRedis;
let clients: RedisClient[];
let budgets: RedisRequestBudget[];
let prefix: string;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  prefix = newId('req');
  clients = [1, 2, 3].map(() => openRedis(parseRedisAddress(server.url), 'failFast', () => undefined));
  await Promise.all(clients.map((client) => once(client, 'ready')));
  budgets = clients.map((client) => new RedisRequestBudget(client, prefix));
});
afterEach(async () => {
  await Promise.all(clients.map((client) => closeRedis(client)));
});

interface Leave {
  at: number;
  kind: RequestClass;
}

/** Requests tokens with this many callers per process for this long. Returns the requests and their times. */
async function hammer(
  rate: number,
  callers: Partial<Record<RequestClass, number>>,
  ms: number,
): Promise<Leave[]> {
  const left: Leave[] = [];
  const end = performance.now() + ms;
  const call = async (budget: RedisRequestBudget, kind: RequestClass): Promise<void> => {
    while (performance.now() < end) {
      try {
        await budget.acquire('a', rate, kind, end - performance.now());
        left.push({ at: performance.now(), kind });
      } catch (error) {
        if (!(error instanceof BudgetExhaustedError)) throw error;
        return;
      }
    }
  };
  const kinds = Object.entries(callers) as [RequestClass, number][];
  await Promise.all(
    budgets.flatMap((budget) =>
      kinds.flatMap(([kind, count]) => Array.from({ length: count }, () => call(budget, kind))),
    ),
  );
  return left;
}

const count = (left: readonly Leave[], kind: RequestClass): number =>
  left.filter((one) => one.kind === kind).length;

describe('the budget of an account', () => {
  it('stays in Redis at least until its token bucket is full again, even at a very low rate', async () => {
    const [redis, budget] = [clients[0], budgets[0]];
    await budget?.acquire('a', 0.01, 'send', 0);
    expect(await redis?.pttl(`${prefix}:{a}:budget`)).toBeGreaterThan(100_000);
    await budget?.shrink('a', 0.01);
    expect(await redis?.pttl(`${prefix}:{a}:budget`)).toBeGreaterThan(200_000);
  });

  it('allows all processes together at most rate × (t + 1) requests in any t seconds, and not much fewer', async () => {
    const rate = 50;
    const left = await hammer(rate, { send: 3, read: 2, poll: 2 }, 2_500);
    // On a busy machine one answer of Redis may reach its caller this much later than another.
    const jitter = 0.05;
    const over = left.flatMap((first, i) =>
      left.slice(i).filter(({ at }, n) => n + 1 > rate * ((at - first.at) / 1000 + jitter + 1)),
    );
    expect(over).toEqual([]);
    expect(left.length).toBeGreaterThan(rate * 3.5 * 0.85);
    expect(left.length).toBeLessThanOrEqual(Math.ceil(rate * 3.55));
  });

  it('reserves a fifth of the requests for polls during a flood of sends', async () => {
    await hammer(50, { send: 10 }, 300);
    const left = await hammer(50, { send: 10, poll: 2 }, 2_000);
    const share = count(left, 'poll') / left.length;
    expect(share).toBeGreaterThan(0.14);
    expect(share).toBeLessThan(0.3);
  });

  it('reserves a fifth of the requests for polls during a flood of sends and of reads that API callers request', async () => {
    await hammer(50, { send: 5, read: 5 }, 300);
    const left = await hammer(50, { send: 5, read: 5, poll: 2 }, 2_000);
    expect(count(left, 'poll') / left.length).toBeGreaterThan(0.14);
  });

  it('gives far more requests to sends than to reads that API callers request', async () => {
    await hammer(50, { send: 1 }, 300);
    const left = await hammer(50, { send: 10, read: 10 }, 1_500);
    expect(count(left, 'send')).toBeGreaterThan(count(left, 'read') * 4);
  });

  it('gives more tokens to reads that API callers request than to polls, but reserves a fifth of the tokens for polls', async () => {
    await hammer(50, { read: 1 }, 300);
    const left = await hammer(50, { read: 10, poll: 10 }, 1_500);
    expect(count(left, 'read')).toBeGreaterThan(count(left, 'poll') * 2);
  });

  it('gives all requests to polls while no other request waits', async () => {
    const left = await hammer(50, { poll: 5 }, 1_000);
    expect(left.length).toBeGreaterThan(80);
  });

  it('keeps enough tokens for a burst of polls, because reads of older messages get only the tokens that a full bucket cannot hold', async () => {
    const rate = 20;
    await hammer(rate, { deep: 4 }, 1_500);
    const polls: Promise<unknown>[] = [];
    const deep = hammer(rate, { deep: 4 }, 2_000);
    // The bucket holds 16 tokens. A deep read that has just begun took one of them.
    for (const budget of [0, 1, 2, 3].flatMap(() => budgets))
      polls.push(budget.acquire('a', rate, 'poll', 0));
    await Promise.all(polls);
    // First the bucket fills up again.
    expect((await deep).length).toBeGreaterThan((rate * 2 - polls.length) * 0.8);
  });

  it('counts requests made before a reduction of the rate as if they had been made at the reduced rate', async () => {
    const [budget] = budgets;
    await hammer(400, { read: 10 }, 500);
    // As after a minute at the full rate that ended twenty seconds ago: two half-lives.
    const bucket = `${prefix}:{a}:budget`;
    const averagedAt = Number(await clients[0]?.hget(bucket, 'averagedAt'));
    await clients[0]?.hset(bucket, 'other', 400 * 14.4, 'averagedAt', averagedAt - 20_000);
    expect((await budget?.usage('a', 20))?.availableForPolls).toBeCloseTo(15, 0);
  });

  it('rejects at once a request that would have to wait too long, and says when to retry', async () => {
    const [budget] = budgets;
    await budget?.acquire('a', 2, 'send', 0);
    const began = performance.now();
    const refused: unknown = await budget?.acquire('a', 2, 'send', 100).catch((error: unknown) => error);
    expect(performance.now() - began).toBeLessThan(90);
    expect(refused).toBeInstanceOf(BudgetExhaustedError);
    const { retryAfterMs } = refused as BudgetExhaustedError;
    expect(retryAfterMs).toBeGreaterThan(100);
    expect(retryAfterMs).toBeLessThanOrEqual(500);
  });

  it('of less than one request per second allows one request at once, and the next only when the rate allows it', async () => {
    const [budget] = budgets;
    await budget?.acquire('a', 0.5, 'poll', 0);
    await expect(budget?.acquire('a', 0.5, 'poll', 1_000)).rejects.toThrow(BudgetExhaustedError);
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
    expect(await clients[0]?.hget(`${prefix}:{a}:budget`, 'limit')).toBeNull();
    expect(await leave(1_500)).toBeGreaterThan(before * 0.7);
  });

  it("is halved by a 429 reply also if Redis' clock was set back after the last one", async () => {
    const [one] = budgets;
    const budget = `${prefix}:{a}:budget`;
    await one?.shrink('a', rate);
    await clients[0]?.hincrbyfloat(budget, 'shrunkAt', 3_600_000);
    await one?.shrink('a', rate);
    expect(Number(await clients[0]?.hget(budget, 'limit'))).toBe(rate / 4);
  });

  it("lets a low class request again if Redis' clock was set back while a higher class waited", async () => {
    const [one] = budgets;
    await one?.acquire('a', 1, 'send', 0);
    await expect(one?.acquire('a', 1, 'send', 0)).rejects.toThrow(BudgetExhaustedError);
    for (const field of ['at', 'averagedAt', 'send'])
      await clients[0]?.hincrbyfloat(`${prefix}:{a}:budget`, field, 3_600_000);
    await one?.acquire('a', 1, 'read', 5_000);
  });

  it('never falls below a sixteenth of the configured rate, and grows by a fiftieth of the configured rate at each success', async () => {
    const [one] = budgets;
    const limit = async (): Promise<number> =>
      Number(await clients[0]?.hget(`${prefix}:{a}:budget`, 'limit'));
    for (let i = 0; i < 8; i += 1) {
      await one?.shrink('a', rate);
      // As if the burst was some time ago.
      await clients[0]?.hset(`${prefix}:{a}:budget`, 'shrunkAt', 0);
    }
    expect(await limit()).toBe(rate / 16);
    await one?.grow('a', rate);
    expect(await limit()).toBeCloseTo(rate / 16 + rate / 50);
    await one?.acquire('a', rate, 'send', 2_000);
  });
});
