import { skipWhileRunning } from '../calls/skip-while-running.js';
import type { Logger } from '../log/logger.js';
import type { RedisClient } from './redis-connection.js';
import { LuaScript } from './redis-lua-script.js';
import { readRedisTime } from './redis-time.js';

/**
 * Interval between two heartbeats, in milliseconds. A process counts as crashed if its last heartbeat is older than
 * three intervals. A crash must be noticed within 10 s.
 */
const BEAT_EVERY_MS = 3_000;
/** A process counts as running while its last heartbeat is at most this old, in milliseconds. */
export const HEARTBEAT_TTL_MS = 3 * BEAT_EVERY_MS;
/**
 * Maximum time by which a heartbeat may be ahead of Redis' clock, in milliseconds; see
 * {@link readLiveHeartbeatMembers}.
 */
const MAX_AHEAD_MS = 60_000;
/** Age at which a heartbeat is removed from Redis, in milliseconds. */
const REMOVED_AFTER_MS = 3_600_000;

const heartbeatScript = LuaScript.from(import.meta.url, 'lua/heartbeat.lua');

/**
 * Returns the members of the heartbeat set `key` whose processes are running, that is, have a recent
 * heartbeat.
 */
export async function readLiveHeartbeatMembers(redis: RedisClient, key: string): Promise<string[]> {
  const now = await readRedisTime(redis, key);
  // If Redis' clock was set back, the last heartbeat of a crashed process may be far ahead of the clock. Heartbeats
  // that are more than `MAX_AHEAD_MS` ahead are therefore left out.
  return redis.zrangebyscore(key, now - HEARTBEAT_TTL_MS, now + MAX_AHEAD_MS);
}

/** Announces every few seconds, in a sorted set in Redis, that this process is running. */
export class RedisHeartbeat {
  private timer: NodeJS.Timeout | undefined;
  private lastBeatAt = -Infinity;

  /**
   * @param key Redis key of the sorted set that contains the heartbeats of all gateways or of all workers
   * @param member identity of this process; see `formatProcessInstance`
   */
  constructor(
    protected readonly redis: RedisClient,
    private readonly key: string,
    private readonly member: string,
    protected readonly logger: Logger,
  ) {}

  start(): void {
    const beat = skipWhileRunning(() => this.beat());
    const once = (): void => {
      beat().catch((error: unknown) => {
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
      // The connection to Redis was just lost. Other processes soon see that this process's heartbeat has
      // expired.
      this.logger.debug({ err: error }, 'could not remove the heartbeat of this process from Redis');
    }
  }

  /** Returns true if this process has written a heartbeat in the last {@link HEARTBEAT_TTL_MS} milliseconds. */
  isFresh(): boolean {
    return performance.now() - this.lastBeatAt < HEARTBEAT_TTL_MS;
  }

  protected async beat(): Promise<void> {
    if (this.redis.status !== 'ready') return;
    await heartbeatScript.run(
      this.redis,
      { alive: this.key },
      { member: this.member, forgetAfter: REMOVED_AFTER_MS },
    );
    this.lastBeatAt = performance.now();
  }
}
