import { describe, expect, it } from '@jest/globals';
import { RedisPollDueTimeReader } from '#feed';
import { accountKeys, isRedisNearlyFull } from '#platform';
import { RedisRelayDueTimeReader } from '#relay';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { accept, relayUntil, rounds, failPosts } = relay;

/** Limits Redis' memory to half of what it uses now. */
async function fill(): Promise<void> {
  const used = Number(/^used_memory:(\d+)/m.exec(await relay.harness.redis.info('memory'))?.[1]);
  await relay.harness.redis.config('SET', 'maxmemory', String(Math.round(used / 2)));
}

describe('a full Redis', () => {
  it('refuses new sends and is reported as full, and retention still removes finished sends and events', async () => {
    expect(await isRedisNearlyFull(relay.harness.redis)).toBe(false);
    failPosts({ kind: 'status', status: 400 }, 'always');
    for (let n = 0; n < 3; n += 1) await relayUntil(await accept(), 'failed');
    const events = await relay.harness.events();
    expect(events).toHaveLength(3);
    const counters = accountKeys(relay.harness.prefix, ACCOUNT)('events', 'counters');
    await relay.harness.redis.hset(counters, 'dispatched', events.at(-1)?.position ?? '');
    await fill();
    try {
      expect(await isRedisNearlyFull(relay.harness.redis)).toBe(true);
      await expect(accept()).rejects.toThrow(/OOM/);
      await rounds().trim(ACCOUNT, { maxAgeMs: 60_000, maxCount: 1 });
      expect(await relay.harness.log.trim(ACCOUNT, { maxAgeMs: 60_000, maxCount: 1 })).toBe(2);
    } finally {
      await relay.harness.redis.config('SET', 'maxmemory', '0');
    }
    expect(await relay.harness.redis.zcard(accountKeys(relay.harness.prefix, ACCOUNT)('finished'))).toBe(1);
    expect(await relay.harness.events()).toHaveLength(1);
    expect(await relay.harness.sends.laneHead(ACCOUNT, NUMBER)).toBeUndefined();
  });

  it('lets workers find the work that is due', async () => {
    const { redis, prefix } = relay.harness;
    await accept();
    await redis.zadd(accountKeys(prefix, ACCOUNT)('polls', 'due'), 0, 'contact');
    await fill();
    try {
      const sends = new RedisRelayDueTimeReader(redis, prefix, { maxAgeMs: 60_000, maxCount: 1 }, 60_000);
      expect((await sends.read(ACCOUNT)).lanesInMs).toBeDefined();
      expect((await new RedisPollDueTimeReader(redis, prefix).read(ACCOUNT)).dueInMs).toBeDefined();
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
  });
});
