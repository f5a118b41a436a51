import { createHash } from 'node:crypto';
import type { RedisClient } from './redis-connection.js';

/**
 * A Lua script that Redis runs by its digest. If Redis does not have the script, for example after a restart
 * or a failover, the source is sent. Only the error NOSCRIPT causes this second call, because it means that
 * nothing has run.
 */
export class EvalshaScript {
  private readonly digest: string;

  constructor(private readonly source: string) {
    this.digest = createHash('sha1').update(source).digest('hex');
  }

  /**
   * Runs the script. All keys must be in one hash slot. Arguments that are Buffers are sent unchanged.
   * Strings in the reply are decoded as text.
   */
  async run(redis: RedisClient, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    // The arguments are passed as one array, because JavaScript limits the number of arguments of a call.
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
