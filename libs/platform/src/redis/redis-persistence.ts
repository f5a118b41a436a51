import { Cluster } from 'ioredis';
import type { RedisClient } from './redis-connection.js';

/** Resolves to true if every master of Redis writes an append-only file. If not, a restart may lose data. */
export async function hasAppendOnlyFile(client: RedisClient): Promise<boolean> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const infos = await Promise.all(nodes.map((node) => node.info('persistence')));
  return infos.every((info) => !/^aof_enabled:0/m.test(info));
}
