import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  closeRedis,
  createLogger,
  newInstance,
  openRedis,
  parseRedisAddress,
  type RedisClient,
} from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { Heartbeat } from './heartbeat.js';

let server: TestRedis;
let redis: RedisClient;

beforeAll(async () => {
  server = await startTestRedis();
  redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
  await eventually('Redis is there', () => redis.status === 'ready');
});
afterAll(async () => {
  await closeRedis(redis);
  await server.dispose();
});

/** The lines that a worker has logged when it has beaten once. */
async function beatOnce(): Promise<string[]> {
  const lines: string[] = [];
  const logger = createLogger('worker', 'info', { write: (line) => lines.push(line) });
  const heartbeat = new Heartbeat(redis, 'tidings', newInstance('1', 0), ['relay'], logger);
  heartbeat.start();
  await eventually(
    'it has beaten',
    async () => heartbeat.isFresh() && (await redis.exists('tidings:installation')),
  );
  await heartbeat.stop();
  return lines;
}

it('logs that a new installation begins, also where Redis was emptied, and nothing where it goes on', async () => {
  const begins = [expect.stringContaining('a new installation begins')];
  expect(await beatOnce()).toEqual(begins);
  expect(await beatOnce()).toEqual([]);
  await redis.flushall();
  expect(await beatOnce()).toEqual(begins);
});
