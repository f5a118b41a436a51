import { accountKeys, LuaScript, pause, type RedisClient } from '#platform';
import { BudgetExhaustedError } from './request-budget.js';
import type { RequestRateLimiter } from './request-rate-limiter.js';

const takeShareScript = LuaScript.from(import.meta.url, 'lua/take-share.lua');

/**
 * Implements {@link RequestRateLimiter} in Redis, by Redis' clock. In any t seconds, an account may make at most
 * `requestsPerSecond` × t + `burst` requests.
 */
export class RedisRequestRateLimiter implements RequestRateLimiter {
  /** @param name name of the kind of requests that are limited; it is part of the Redis key */
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly name: string,
    private readonly burst: number,
  ) {}

  async acquire(account: string, requestsPerSecond: number, patienceMs: number): Promise<number> {
    const share = accountKeys(this.prefix, account)('budget', 'share', this.name);
    const start = performance.now();
    for (;;) {
      const interval = 1_000 / requestsPerSecond;
      const waitMs = Number(
        await takeShareScript.run(this.redis, { share }, { interval, burst: this.burst }),
      );
      const waited = performance.now() - start;
      if (waitMs === 0) return waited;
      if (waited + waitMs > patienceMs) throw new BudgetExhaustedError(waitMs);
      await pause(waitMs);
    }
  }
}
