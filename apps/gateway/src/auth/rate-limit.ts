import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RedisClient } from '#platform';

/** How a key stands after a request was counted. */
export interface RateState {
  /** Whether this request was one too many. */
  isOver: boolean;
  /** Requests a window. */
  limit: number;
  /** What is left of it in this window. */
  remaining: number;
  /** How long this window lasts still. */
  resetMs: number;
}

/** Counts the requests of each API key. */
export interface RateLimit {
  count(keyId: string): Promise<RateState>;
}

const WINDOW_SECONDS = 60;

/** What a Redis says that is there, but can store nothing. */
const STORES_NOTHING = /^(OOM|MISCONF|NOREPLICAS) /;

/**
 * One count over all gateways, in windows of a minute by Redis' clock.
 *
 * A Redis that is full can still be read, and so must be callers' reads: then each gateway counts by itself. One that
 * is silent or away is no reason to count elsewhere, since nothing can be answered without it: its error is thrown.
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
      return this.state(await this.shared.consume(keyId));
    } catch (error) {
      if (error instanceof RateLimiterRes) return this.state(error);
      if (!(error instanceof Error && STORES_NOTHING.test(error.message))) throw error;
      return await this.countAlone(keyId);
    }
  }

  private async countAlone(keyId: string): Promise<RateState> {
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
