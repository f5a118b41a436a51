import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RedisClient } from '#platform';

/** State of the rate limit of an API key or token after a request was counted. */
export interface RateState {
  /** True if this request is above the limit. */
  isOver: boolean;
  /** Maximum number of requests per window. */
  limit: number;
  /** Number of requests left in this window. */
  remaining: number;
  /** Time until this window ends, in milliseconds. */
  resetMs: number;
}

/** Counts the requests of each API key, or of each token. */
export interface RateLimit {
  /** Counts one request and returns the state of the limit. @param id id of the API key or token */
  count(id: string): Promise<RateState>;
}

const WINDOW_SECONDS = 60;

/** Error replies of a Redis server that answers reads but rejects writes. */
const WRITES_REJECTED = /^(OOM|MISCONF|NOREPLICAS) /;

/**
 * Counts requests over all gateways together, in windows of one minute of Redis time.
 *
 * A full Redis still serves reads, so callers' reads must work: each gateway then counts in its own memory. If Redis is
 * unreachable, its error is thrown, because no request can be served without Redis.
 */
export class RedisRateLimit implements RateLimit {
  private readonly shared: RateLimiterRedis;
  private readonly own: RateLimiterMemory;

  constructor(
    redis: RedisClient,
    prefix: string,
    private readonly limit: number,
  ) {
    const options = { points: limit, duration: WINDOW_SECONDS };
    this.shared = new RateLimiterRedis({ ...options, storeClient: redis, keyPrefix: `${prefix}:rate` });
    this.own = new RateLimiterMemory(options);
  }

  async count(keyId: string): Promise<RateState> {
    try {
      let result = await this.consume(keyId);
      if (result.msBeforeNext > WINDOW_SECONDS * 1_000) {
        // Redis' clock was set back. The window would last until the clock has caught up.
        await this.shared.delete(keyId);
        result = await this.consume(keyId);
      }
      return this.state(result);
    } catch (error) {
      if (!(error instanceof Error && WRITES_REJECTED.test(error.message))) throw error;
      return await this.countInMemory(keyId);
    }
  }

  /** Counts one request over all gateways. */
  private async consume(keyId: string): Promise<RateLimiterRes> {
    try {
      return await this.shared.consume(keyId);
    } catch (error) {
      if (error instanceof RateLimiterRes) return error;
      throw error;
    }
  }

  private async countInMemory(keyId: string): Promise<RateState> {
    try {
      return this.state(await this.own.consume(keyId));
    } catch (error) {
      if (error instanceof RateLimiterRes) return this.state(error);
      throw error;
    }
  }

  private state({ consumedPoints, remainingPoints, msBeforeNext }: RateLimiterRes): RateState {
    return {
      isOver: consumedPoints > this.limit,
      limit: this.limit,
      remaining: remainingPoints,
      resetMs: Math.max(0, msBeforeNext),
    };
  }
}
