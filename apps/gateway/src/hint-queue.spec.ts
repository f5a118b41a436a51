import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { closeRedis, createLogger, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { eventually } from '../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../test/support/redis-server.js';
import { openHintQueue } from './hint-queue.js';

const HINT = { subject: 'a', payload: { account: 'default', lane: '+15551234567' } };

let server: TestRedis;
let redis: RedisClient;

beforeAll(async () => {
  server = await startTestRedis();
  redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
  await once(redis, 'ready');
});
afterAll(async () => {
  await closeRedis(redis);
  await server.dispose();
});

it('the queue of hints for workers works after Redis recovers, even if Redis hung when the queue was first used', async () => {
  const listeners = redis.listenerCount('error');
  server.server.kill('SIGSTOP');
  const hints = openHintQueue('relay', redis, 'tidings', createLogger('test', 'silent'));
  await expect(hints.add([HINT])).rejects.toThrow();
  await expect(hints.add([HINT])).rejects.toThrow();
  server.server.kill('SIGCONT');
  await eventually('a hint is accepted', async () => {
    await hints.add([HINT]);
    return true;
  });
  // The abandoned queues have removed their listeners.
  expect(redis.listenerCount('error')).toBe(listeners + 1);
});
