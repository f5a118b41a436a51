import { once } from 'node:events';
import { closeRedis, openRedis, parseRedisAddress, type RedisClient } from '#platform';

/**
 * Memory in use by Redis, in bytes. Measured on a separate connection and with an empty slow log, so that connection
 * buffers and slow-log entries do not count.
 */
export async function usedMemory(url: string): Promise<number> {
  return withConnection(url, async (redis) => {
    await redis.slowlog('RESET');
    const [, used] = /^used_memory:(\d+)/m.exec(await redis.info('memory')) ?? [];
    if (used === undefined) throw new Error('Redis does not report its memory use.');
    return Number(used);
  });
}

export async function withConnection<T>(url: string, body: (redis: RedisClient) => Promise<T>): Promise<T> {
  const redis = openRedis(parseRedisAddress(url), 'failFast', () => undefined);
  await once(redis, 'ready');
  try {
    return await body(redis);
  } finally {
    await closeRedis(redis);
  }
}
