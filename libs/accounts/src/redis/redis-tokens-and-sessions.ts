import type { RedisClient } from '#platform';
import type { CrossAccountKeys } from './redis-account-keys.js';

/** Maximum number of tokens or sessions that one command removes. */
const REMOVED_AT_ONCE = 500;

/**
 * Removes the tokens and sessions of an API key that was removed. These tokens and sessions are already invalid, so
 * their removal only frees memory. If the removal fails, they expire later.
 */
export async function removeTokensAndSessionsOfApiKey(
  redis: RedisClient,
  { tokensOf, token, sessionsOf, session }: CrossAccountKeys,
  keyId: string,
): Promise<void> {
  try {
    await removeAll(redis, tokensOf(keyId), token);
    await removeAll(redis, sessionsOf(keyId), session);
  } catch {
    // Tokens and sessions that were not removed are harmless: they are invalid without their API key, and they
    // expire.
  }
}

/** Removes a sorted set of ids, and the Redis key that belongs to each id. */
async function removeAll(redis: RedisClient, ids: string, keyOf: (id: string) => string): Promise<void> {
  for (;;) {
    const popped = (await redis.zpopmin(ids, REMOVED_AT_ONCE)).filter((_, i) => i % 2 === 0);
    if (popped.length === 0) return;
    await redis.unlink(...popped.map(keyOf));
  }
}
