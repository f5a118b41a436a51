import { createHash } from 'node:crypto';
import type { RedisClient } from './redis-connection.js';

/**
 * A Lua script that runs by its digest. A Redis that lacks the script (restarted, or a new master) gets its source.
 * Only NOSCRIPT causes a second call, because after NOSCRIPT nothing has run.
 */
export class RedisScript {
  private readonly digest: string;

  constructor(private readonly source: string) {
    this.digest = createHash('sha1').update(source).digest('hex');
  }

  /** Runs the script. All keys must be in one hash slot. Buffers pass through unchanged; replies are text. */
  async run(redis: RedisClient, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    // The arguments go in one list: JavaScript limits the number of arguments of a function call.
    return this.runOrLoad(
      () => redis.call('evalsha', [this.digest, keys.length, ...keys, ...args]),
      () => redis.call('eval', [this.source, keys.length, ...keys, ...args]),
    );
  }

  /** Runs the script like {@link run}, but returns Buffers in place of strings. */
  async runForBuffers(
    redis: RedisClient,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    return this.runOrLoad(
      () => redis.callBuffer('evalsha', [this.digest, keys.length, ...keys, ...args]),
      () => redis.callBuffer('eval', [this.source, keys.length, ...keys, ...args]),
    );
  }

  private async runOrLoad(
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
