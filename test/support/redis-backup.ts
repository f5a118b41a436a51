import type { RedisClient } from '#platform';
import { eventually } from './eventually.js';
import type { TestRedis } from './redis-server.js';

/** A copy of all data under a key prefix, which can be restored later. */
export class RedisBackup {
  private constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly dumps: ReadonlyMap<string, Buffer>,
  ) {}

  static async create(redis: RedisClient, prefix: string): Promise<RedisBackup> {
    const keys = await redis.keys(`${prefix}:*`);
    const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
    const found = keys.flatMap((key, i): [string, Buffer][] => (dumps[i] == null ? [] : [[key, dumps[i]]]));
    return new RedisBackup(redis, prefix, new Map(found));
  }

  /** Simulates a failover to a replica that lacked all later writes: restores the copy and restarts Redis. */
  async restore({ server }: TestRedis): Promise<void> {
    for (const key of await this.redis.keys(`${this.prefix}:*`)) await this.redis.del(key);
    // A process may still write in the background until the restart. Those writes are lost too.
    for (const [key, dump] of this.dumps) await this.redis.restore(key, 0, dump, 'REPLACE');
    await server.restart();
    await eventually('Redis responds', () => this.redis.ping());
  }
}
