import { Cluster } from 'ioredis';
import type { RedisClient } from './redis-connection.js';

/**
 * Redis counts as nearly full if it uses at least this share of `maxmemory`. Writes in progress need memory, too, so
 * Redis may reject a large write although its used memory is below the limit.
 */
const FULL_PART = 0.8;

/** Memory of one Redis server, in bytes. */
export interface RedisMemory {
  used: number;
  /** The limit `maxmemory`; 0 without a limit. */
  max: number;
}

/**
 * Resolves to true if a master of Redis is at or near its `maxmemory`. Redis may then reject commands that need more
 * memory.
 */
export async function isRedisNearlyFull(client: RedisClient): Promise<boolean> {
  return (await readRedisMemory(client)).some(({ used, max }) => max > 0 && used >= FULL_PART * max);
}

/** Resolves to the memory of each master of Redis. */
export async function readRedisMemory(client: RedisClient): Promise<RedisMemory[]> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const infos = await Promise.all(nodes.map((node) => node.info('memory')));
  return infos.map((info) => ({ used: figure(info, 'used_memory'), max: figure(info, 'maxmemory') }));
}

/** Returns the value of the field `name` in a reply to `INFO memory`. */
function figure(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
}
