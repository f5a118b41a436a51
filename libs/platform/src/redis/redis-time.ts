import type { RedisClient } from './redis-connection.js';
import { RedisScript } from './redis-script.js';

/** KEYS: any key; it is not touched. */
const time = new RedisScript(`
local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000)
`);

/**
 * Milliseconds since 1970 by the clock of the Redis that keeps this key, whether or not there is such a key. On a
 * Cluster each master has a clock of its own, and only that one is what the scripts on this key go by.
 */
export async function redisTime(redis: RedisClient, key: string): Promise<number> {
  return Number(await time.run(redis, [key], []));
}
