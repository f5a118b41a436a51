import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { closeRedis, newId, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { BudgetExhaustedError, RedisRequestRateLimiter } from '#upstream';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

const BURST = 5;

let server: TestRedis;
let clients: RedisClient[];
let limiters: RedisRequestRateLimiter[];

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  const prefix = newId('req');
  clients = [1, 2].map(() => openRedis(parseRedisAddress(server.url), 'failFast', () => undefined));
  await Promise.all(clients.map((client) => once(client, 'ready')));
  limiters = clients.map((client) => new RedisRequestRateLimiter(client, prefix, 'test', BURST));
});
afterEach(async () => {
  await Promise.all(clients.map((client) => closeRedis(client)));
});

/** Makes requests from all processes until one is refused. Returns the number of requests that were allowed. */
async function takeAll(account: string, rate: number): Promise<number> {
  let count = 0;
  await Promise.all(
    limiters.map(async (limiter) => {
      for (;;) {
        try {
          await limiter.acquire(account, rate, 0);
          count += 1;
        } catch (error) {
          if (!(error instanceof BudgetExhaustedError)) throw error;
          return;
        }
      }
    }),
  );
  return count;
}

describe('the rate limiter for one kind of upstream requests', () => {
  it('counts the requests of each account across all processes, and allows a burst', async () => {
    expect(await takeAll('a', 0.01)).toBe(BURST);
    expect(await takeAll('b', 0.01)).toBe(BURST);
  });

  it('allows no more requests per second than its rate after the initial burst', async () => {
    const rate = 50;
    const start = performance.now();
    const [limiter] = limiters;
    for (let i = 0; i < BURST + 20; i += 1) await limiter?.acquire('a', rate, 5_000);
    expect(performance.now() - start).toBeGreaterThanOrEqual((20 / rate) * 1_000 - 5);
  });

  it('rejects a request that would have to wait too long, with an error that says when to retry', async () => {
    await takeAll('a', 0.1);
    const refusal = limiters[0]?.acquire('a', 0.1, 100);
    await expect(refusal).rejects.toThrow(BudgetExhaustedError);
    await expect(refusal).rejects.toMatchObject({ retryAfterMs: expect.any(Number) });
  });
});
