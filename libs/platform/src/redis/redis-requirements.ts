import { Cluster, type Redis } from 'ioredis';
import { ConfigurationError } from '../environment/configuration-error.js';
import type { RedisClient } from './redis-connection.js';

const MIN_VERSION = [7, 0] as const;

/**
 * Checks that Redis is new enough, never evicts keys, and accepts the database that the address names. If Redis
 * evicted a key, a send could be lost.
 * @throws {ConfigurationError} that names the required change
 */
export async function checkRedisRequirements(client: RedisClient): Promise<void> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const faults = await Promise.all(
    nodes.map(async (node) => [
      ...(await describeRefusedDatabase(node)),
      ...describeUnmetRedisRequirements(await node.info('server'), await node.info('memory')),
    ]),
  );
  const all = [...new Set(faults.flat())];
  if (all.length > 0) throw new ConfigurationError(all);
}

/**
 * Returns one text if Redis refuses the database that the address names. When the client connects, it selects that
 * database. If Redis refuses it, the client uses database 0, which may contain the data of other applications.
 */
async function describeRefusedDatabase(client: Redis): Promise<string[]> {
  const { db = 0 } = client.options;
  if (db === 0) return [];
  try {
    await client.select(db);
    return [];
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ReplyError')) throw error;
    return [
      `REDIS_URL names database ${db}, which Redis refuses (${error.message}); name one that exists and that the user may select, for example /0 at the end of REDIS_URL`,
    ];
  }
}

/**
 * Resolves to true if the client is connected to a server that replicates another server, and therefore does not
 * accept writes. Returns false for a Redis Cluster, where each write goes to a master.
 */
export async function isReadOnlyReplica(client: RedisClient): Promise<boolean> {
  return !(client instanceof Cluster) && /^role:slave/m.test(await client.info('replication'));
}

/**
 * Returns one text for each requirement that a Redis server does not meet.
 * @param server reply of the server to `INFO server`
 * @param memory reply of the server to `INFO memory`
 */
export function describeUnmetRedisRequirements(server: string, memory: string): string[] {
  const faults: string[] = [];
  const version = /^redis_version:(\d+)\.(\d+)(\S*)/m.exec(server);
  const [major, minor] = [Number(version?.[1] ?? 0), Number(version?.[2] ?? 0)];
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1])) {
    faults.push(
      `REDIS_URL points at Redis ${version === null ? 'of an unknown version' : version[0].slice('redis_version:'.length)}, but ${MIN_VERSION.join('.')} or newer is required; for example, install the package redis-server of Debian 12`,
    );
  }
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? 'unknown';
  if (policy !== 'noeviction') {
    faults.push(
      `REDIS_URL points at a Redis with maxmemory-policy ${policy}, which may delete stored sends; run: redis-cli CONFIG SET maxmemory-policy noeviction`,
    );
  }
  return faults;
}
