import { Cluster } from 'ioredis';
import type { RedisClient } from './redis-connection.js';

/** What is being written counts, too, while it is: a Redis that has less than this part left may refuse a large step. */
const FULL_PART = 0.8;

/** Whether a Redis is at its `maxmemory`, or nearly: then it refuses what might need more. */
export async function isRedisFull(client: RedisClient): Promise<boolean> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const infos = await Promise.all(nodes.map((node) => node.info('memory')));
  return infos.some((info) => isFull(info));
}

/** By its `INFO memory`. */
function isFull(memory: string): boolean {
  const figure = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(memory)?.[1] ?? 0);
  const limit = figure('maxmemory');
  return limit > 0 && figure('used_memory') >= FULL_PART * limit;
}
