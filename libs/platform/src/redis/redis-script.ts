import { createHash } from 'node:crypto';
import type { RedisClient } from './redis-connection.js';

/**
 * A Lua script, run by its digest and loaded where it is missing (a restarted Redis, a new master).
 * Every script is safe to be run again from its start: only NOSCRIPT, which ran nothing, is answered by a second call.
 */
export class RedisScript {
  private readonly digest: string;

  constructor(private readonly source: string) {
    this.digest = createHash('sha1').update(source).digest('hex');
  }

  /** Runs the script. All keys must be of one slot. Buffers pass through as they are; replies are text. */
  async run(redis: RedisClient, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    // As one list: there may be more of them than a function can be called with.
    return this.loadedIfMissing(
      () => redis.call('evalsha', [this.digest, keys.length, ...keys, ...args]),
      () => redis.call('eval', [this.source, keys.length, ...keys, ...args]),
    );
  }

  /** {@link run}, but for replies that are not all text: what would be text is a Buffer. */
  async runForBuffers(
    redis: RedisClient,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    return this.loadedIfMissing(
      () => redis.callBuffer('evalsha', [this.digest, keys.length, ...keys, ...args]),
      () => redis.callBuffer('eval', [this.source, keys.length, ...keys, ...args]),
    );
  }

  private async loadedIfMissing(
    byDigest: () => Promise<unknown>,
    bySource: () => Promise<unknown>,
  ): Promise<unknown> {
    try {
      return await byDigest();
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return await bySource();
    }
  }
}

export type RedisArgument = string | number | Buffer;
