import { Cluster } from 'ioredis';
import { ConfigurationError } from '../environment/configuration-error.js';
import type { RedisClient } from './redis-connection.js';

const MIN_VERSION = [7, 0] as const;

/**
 * Checks that Redis is new enough and never evicts keys. If Redis evicted a key, a send could be lost.
 * @throws {ConfigurationError} that names the required change
 */
export async function checkRedisRequirements(client: RedisClient): Promise<void> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const faults = await Promise.all(
    nodes.map(async (node) =>
      describeUnmetRedisRequirements(await node.info('server'), await node.info('memory')),
    ),
  );
  const all = [...new Set(faults.flat())];
  if (all.length > 0) throw new ConfigurationError(all);
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
