import type { RedisClient } from './redis-connection.js';
import { LuaScript } from './redis-lua-script.js';

const timeScript = LuaScript.from(import.meta.url, 'lua/time.lua');

/**
 * Returns the time of the Redis server that holds this key, in milliseconds since 1970. The key need not
 * exist. In a Redis Cluster each master has its own clock. Scripts that use this key read the same clock.
 */
export async function readRedisTime(redis: RedisClient, key: string): Promise<number> {
  return Number(await timeScript.run(redis, { slot: key }));
}
