import type { RedisClient } from './redis-connection.js';
import { LuaScript } from './redis-lua-script.js';

const time = LuaScript.from(import.meta.url, 'lua/time.lua');

/**
 * Milliseconds since 1970 by the clock of the Redis that keeps this key, whether or not there is such a key. On a
 * Cluster each master has a clock of its own, and only that one is what the scripts on this key go by.
 */
export async function redisTime(redis: RedisClient, key: string): Promise<number> {
  return Number(await time.run(redis, { slot: key }));
}
