import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Canaries } from './leaks.js';
import { withTestRedis } from './redis-server.js';

const TEXT = 'a "quoted" text \u{1F426}';

function canaries(): Canaries {
  const all = new Canaries();
  all.addExchange('/v1/messages/send', { message: TEXT }, {});
  all.addExchange('/v1/webhooks', { headers: { 'X-Own': 'own-header' } }, { secret: 'whsec_secret' });
  all.addExchange('/v1/accounts', { apiKey: 'upstream-key' }, {});
  all.addExchange('/v1/api-keys', {}, { key: 'tidings_key' });
  all.addExchange('/v1/tokens', {}, { token: 'tidings_token' });
  return all;
}

describe('the leak check', () => {
  it.each([TEXT, 'own-header', 'whsec_secret', 'upstream-key', 'tidings_key', 'tidings_token'])(
    'finds the secret or text "%s" in a log, both plain and within JSON, and does not print it',
    (canary) => {
      for (const line of [canary, JSON.stringify({ canary }), JSON.stringify(JSON.stringify({ canary }))]) {
        const found = canaries().leaksInLog('it', `fine\n${line}\nfine`);
        expect(found).toHaveLength(1);
        if (line === canary) expect(found[0]).not.toContain(canary);
      }
      expect(canaries().leaksInLog('it', 'fine')).toEqual([]);
    },
  );

  it('finds secrets and message texts in Redis values of every type, but allows message texts in records of sends and events', async () => {
    await withTestRedis(async ({ url }) => {
      const redis = new Redis(url);
      await redis.set('t:{a}:string', 'whsec_secret');
      await redis.hset('t:{a}:hash', 'field', `x${TEXT}x`);
      await redis.rpush('t:{a}:list', 'own-header');
      await redis.sadd('t:{a}:set', 'upstream-key');
      await redis.zadd('t:{a}:zset', 1, 'tidings_key');
      await redis.xadd('t:{a}:stream', '*', 'd', JSON.stringify({ message: TEXT }));
      await redis.set('t:whsec_secret', 'in the name');
      await redis.xadd('t:{a}:events', '*', 'd', JSON.stringify({ message: TEXT }));
      await redis.hset('t:{a}:send:snd_1', 'order', TEXT, 'state', 'tidings_key');
      redis.disconnect();
      const found = await canaries().leaksInRedis(url);
      const places = found.map((words) => words.split(' at ')[1]).sort();
      expect(places).toEqual(
        [
          ...['string', 'hash', 'list', 'set', 'zset', 'stream', 'send:snd_1'].map((name) => `t:{a}:${name}`),
          't:whsec_secret',
        ].sort(),
      );
    });
  });
});
