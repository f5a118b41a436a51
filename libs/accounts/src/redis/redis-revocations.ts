import type { RedisClient } from '#platform';
import type { Revocations } from '../token/token.js';
import { crossAccountRedisKeys } from './redis-account-keys.js';

/** Maximum number of revocations that one call of `after` returns. The next call continues after them. */
const MAX_READ = 1_000;

/**
 * Implements {@link Revocations} with a Redis stream. The scripts that revoke API keys, tokens and sessions add the
 * revocations to this stream.
 */
export class RedisRevocations implements Revocations {
  private readonly key: string;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
  ) {
    this.key = crossAccountRedisKeys(prefix).revocations;
  }

  async end(): Promise<string> {
    const [last] = await this.redis.xrevrange(this.key, '+', '-', 'COUNT', 1);
    return last?.[0] ?? '0-0';
  }

  async after(position: string): Promise<{ ids: string[]; position: string }> {
    const entries = await this.redis.xrange(this.key, `(${position}`, '+', 'COUNT', MAX_READ);
    return {
      ids: entries.flatMap(([, [, id]]) => id ?? []),
      position: entries.at(-1)?.[0] ?? position,
    };
  }
}
