import { once } from 'node:events';
import { closeRedis, openRedis, parseRedisAddress, type RedisClient } from '#platform';

/**
 * By a connection of its own, and without Redis' log of slow commands: what a busy connection takes for its buffers, and
 * the last 128 slow commands, are not what is measured.
 */
export async function usedMemory(url: string): Promise<number> {
  return connected(url, async (redis) => {
    await redis.slowlog('RESET');
    const [, used] = /^used_memory:(\d+)/m.exec(await redis.info('memory')) ?? [];
    if (used === undefined) throw new Error('Redis does not say what memory it uses.');
    return Number(used);
  });
}

export async function connected<T>(url: string, body: (redis: RedisClient) => Promise<T>): Promise<T> {
  const redis = openRedis(parseRedisAddress(url), 'failFast', () => undefined);
  await once(redis, 'ready');
  try {
    return await body(redis);
  } finally {
    await closeRedis(redis);
  }
}
