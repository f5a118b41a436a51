import { createHash } from 'node:crypto';
import { Cluster } from 'ioredis';
import type { RedisClient } from './redis-connection.js';

/**
 * A Lua script that Redis runs by its digest. If Redis does not have the script, for example after a restart
 * or a failover, the source is sent. Only the error NOSCRIPT causes this second call, because it means that
 * nothing has run.
 */
export class EvalshaScript {
  private readonly ofServer: LoadableSource;
  private readonly ofCluster: LoadableSource;

  /** @param sourceForCluster the script as it runs on a Redis Cluster; by default as on a single server */
  constructor(source: string, sourceForCluster = source) {
    this.ofServer = withDigest(source);
    this.ofCluster = withDigest(sourceForCluster);
  }

  /**
   * Runs the script. All keys must be in one hash slot. Arguments that are Buffers are sent unchanged.
   * Strings in the reply are decoded as text.
   */
  async run(redis: RedisClient, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    // The arguments are passed as one array, because JavaScript limits the number of arguments of a call.
    const { digest, source } = this.sourceFor(redis);
    return this.runOrLoad(
      () => redis.call('evalsha', [digest, keys.length, ...keys, ...args]),
      () => redis.call('eval', [source, keys.length, ...keys, ...args]),
    );
  }

  /** Runs the script like {@link run}, but returns Buffers in place of strings. */
  async runForBuffers(
    redis: RedisClient,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    const { digest, source } = this.sourceFor(redis);
    return this.runOrLoad(
      () => redis.callBuffer('evalsha', [digest, keys.length, ...keys, ...args]),
      () => redis.callBuffer('eval', [source, keys.length, ...keys, ...args]),
    );
  }

  private sourceFor(redis: RedisClient): LoadableSource {
    return redis instanceof Cluster ? this.ofCluster : this.ofServer;
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

/** Text of a script, and the digest by which Redis knows it. */
interface LoadableSource {
  source: string;
  digest: string;
}

function withDigest(source: string): LoadableSource {
  return { source, digest: createHash('sha1').update(source).digest('hex') };
}

export type RedisArgument = string | number | Buffer;
