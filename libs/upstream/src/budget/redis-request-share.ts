import { accountKeys, LuaScript, pause, type RedisClient } from '#platform';
import { BudgetExhaustedError } from './request-budget.js';
import type { RequestShare } from './request-share.js';

const takeShare = LuaScript.from(import.meta.url, 'lua/take-share.lua');

/**
 * Implements {@link RequestShare} in Redis, by Redis' clock. In any t seconds, the share allows an account at most
 * `requestsPerSecond` × t + `burst` requests.
 */
export class RedisRequestShare implements RequestShare {
  /** @param name name of the kind of requests that the share limits; it is part of the Redis key */
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
      const waitMs = Number(await takeShare.run(this.redis, { share }, { interval, burst: this.burst }));
      const waited = performance.now() - start;
      if (waitMs === 0) return waited;
      if (waited + waitMs > patienceMs) throw new BudgetExhaustedError(waitMs);
      await pause(waitMs);
    }
  }
}
