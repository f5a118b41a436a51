import { Cluster } from 'ioredis';
import type { RedisClient } from './redis-connection.js';

/**
 * Redis counts as full if it uses at least this share of `maxmemory`. Writes in progress need memory, too, so
 * Redis may reject a large write although its used memory is below the limit.
 */
const FULL_PART = 0.8;

/**
 * Resolves to true if Redis is at or near its `maxmemory`. Redis may then reject commands that need more
 * memory.
 */
export async function isRedisFull(client: RedisClient): Promise<boolean> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const infos = await Promise.all(nodes.map((node) => node.info('memory')));
  return infos.some((info) => isFull(info));
}

/** Returns true if this reply to `INFO memory` shows that the Redis server is full or nearly full. */
function isFull(memory: string): boolean {
  const figure = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(memory)?.[1] ?? 0);
  const limit = figure('maxmemory');
  return limit > 0 && figure('used_memory') >= FULL_PART * limit;
}
