import type { RedisClient } from '#platform';

/** Sorted sets of times at which work is due, in milliseconds since 1970. */
const DUE_TIMES = /:(due|deep|leased|confirms|inflight|agenda)$/;
/** Hashes with such times, and the fields that have them. */
const HASHES: readonly [RegExp, readonly string[]][] = [
  [/:endpoint:[^:]+:speed$/, ['heldUntil', 'failingSince', 'recovering']],
  [/:delivery:[^:]+$/, ['nextAttemptAt', 'notBefore']],
];
const LATEST_TIME = /:latest-time$/;

/**
 * Makes the data of Redis look as if Redis' clock had been set back just now: the clock was ahead by `ms` milliseconds
 * when the due times were written.
 */
export async function setBackClock(redis: RedisClient, prefix: string, ms: number): Promise<void> {
  for (const key of await redis.keys(`${prefix}*`)) {
    if (LATEST_TIME.test(key)) await redis.incrby(key, ms);
    const fields = HASHES.flatMap(([keys, all]) => (keys.test(key) ? all : []));
    for (const field of fields)
      if ((await redis.hexists(key, field)) === 1) await redis.hincrby(key, field, ms);
    if (!DUE_TIMES.test(key) || (await redis.type(key)) !== 'zset') continue;
    for (const member of await redis.zrange(key, '0', '-1')) await redis.zincrby(key, ms, member);
  }
}
