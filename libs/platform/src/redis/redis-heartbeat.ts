import type { Logger } from '../log/logger.js';
import type { RedisClient } from './redis-connection.js';
import { LuaScript } from './redis-lua-script.js';
import { redisTime } from './redis-time.js';

const BEAT_EVERY_MS = 5_000;
/** A process that has not been heard of for so long counts as gone. */
export const SEEN_WITHIN_MS = 3 * BEAT_EVERY_MS;
/** A process that was not heard of for so long is forgotten. */
const FORGOTTEN_AFTER_MS = 3_600_000;

const beat = LuaScript.from(import.meta.url, 'lua/heartbeat.lua');

/** The members of those that are alive. */
export async function aliveIn(redis: RedisClient, key: string): Promise<string[]> {
  return redis.zrangebyscore(key, (await redisTime(redis, key)) - SEEN_WITHIN_MS, '+inf');
}

/** Tells the others, in a sorted set, that this process is alive. */
export class RedisHeartbeat {
  private timer: NodeJS.Timeout | undefined;
  private beatenAt = -Infinity;

  /**
   * @param key of the sorted set
   * @param member what this process says of itself
   */
  constructor(
    protected readonly redis: RedisClient,
    private readonly key: string,
    private readonly member: string,
    protected readonly logger: Logger,
  ) {}

  start(): void {
    const once = (): void => {
      this.beat().catch((error: unknown) => {
        this.logger.warn({ err: error }, 'the heartbeat could not be written');
      });
    };
    once();
    this.timer = setInterval(once, BEAT_EVERY_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.beatenAt = -Infinity;
    if (this.redis.status !== 'ready') return;
    try {
      await this.redis.zrem(this.key, this.member);
    } catch (error) {
      // Redis went away just now. The others take this process for gone soon.
      this.logger.debug({ err: error }, 'the end of the heartbeat could not be written');
    }
  }

  /** Whether Redis could be written lately. */
  isFresh(): boolean {
    return performance.now() - this.beatenAt < SEEN_WITHIN_MS;
  }

  protected async beat(): Promise<void> {
    if (this.redis.status !== 'ready') return;
    await beat.run(this.redis, { alive: this.key }, { member: this.member, forgetAfter: FORGOTTEN_AFTER_MS });
    this.beatenAt = performance.now();
  }
}
