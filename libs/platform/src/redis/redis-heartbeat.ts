import type { Logger } from '../log/logger.js';
import type { RedisClient } from './redis-connection.js';
import { LuaScript } from './redis-lua-script.js';
import { redisTime } from './redis-time.js';

const BEAT_EVERY_MS = 5_000;
/** Maximum age of the last heartbeat of a running process, in milliseconds. */
export const HEARTBEAT_TTL_MS = 3 * BEAT_EVERY_MS;
/** Age at which a heartbeat is removed, in milliseconds. */
const REMOVED_AFTER_MS = 3_600_000;

const beat = LuaScript.from(import.meta.url, 'lua/heartbeat.lua');

/** Returns the members of the processes that are alive. */
export async function liveMembers(redis: RedisClient, key: string): Promise<string[]> {
  return redis.zrangebyscore(key, (await redisTime(redis, key)) - HEARTBEAT_TTL_MS, '+inf');
}

/** Announces in a sorted set that this process is alive. */
export class RedisHeartbeat {
  private timer: NodeJS.Timeout | undefined;
  private lastBeatAt = -Infinity;

  /**
   * @param key key of the sorted set
   * @param member identity of this process; see `instanceMember`
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
        this.logger.warn({ err: error }, 'could not write the heartbeat of this process to Redis');
      });
    };
    once();
    this.timer = setInterval(once, BEAT_EVERY_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.lastBeatAt = -Infinity;
    if (this.redis.status !== 'ready') return;
    try {
      await this.redis.zrem(this.key, this.member);
    } catch (error) {
      // Redis has just gone away. The others soon see that this heartbeat has expired.
      this.logger.debug({ err: error }, 'could not remove the heartbeat of this process from Redis');
    }
  }

  /** Returns true if a heartbeat was written recently. */
  isFresh(): boolean {
    return performance.now() - this.lastBeatAt < HEARTBEAT_TTL_MS;
  }

  protected async beat(): Promise<void> {
    if (this.redis.status !== 'ready') return;
    await beat.run(this.redis, { alive: this.key }, { member: this.member, forgetAfter: REMOVED_AFTER_MS });
    this.lastBeatAt = performance.now();
  }
}
