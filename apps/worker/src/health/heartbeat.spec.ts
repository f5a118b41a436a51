import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  closeRedis,
  createLogger,
  createProcessInstance,
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
  await eventually('Redis is ready', () => redis.status === 'ready');
});
afterAll(async () => {
  await closeRedis(redis);
  await server.dispose();
});

/** Returns the lines that a worker logs until its first heartbeat is written. */
async function beatOnce(): Promise<string[]> {
  const lines: string[] = [];
  const logger = createLogger('worker', 'info', { write: (line) => lines.push(line) });
  const heartbeat = new Heartbeat(redis, 'tidings', createProcessInstance('1', 0), ['relay'], logger);
  heartbeat.start();
  await eventually(
    'the first heartbeat is written',
    async () => heartbeat.isFresh() && (await redis.exists('tidings:installation')),
  );
  await heartbeat.stop();
  return lines;
}

it('the heartbeat of a worker logs a new installation when Redis is empty, and nothing when Redis holds an existing installation', async () => {
  const newInstallation = [expect.stringContaining('starting a new installation')];
  expect(await beatOnce()).toEqual(newInstallation);
  expect(await beatOnce()).toEqual([]);
  await redis.flushall();
  expect(await beatOnce()).toEqual(newInstallation);
});
