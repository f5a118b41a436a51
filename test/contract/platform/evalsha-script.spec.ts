import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { closeRedis, openRedis, parseRedisAddress, type RedisClient, EvalshaScript } from '#platform';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

let server: TestRedis;
let redis: RedisClient;

beforeAll(async () => {
  server = await startTestRedis();
  redis = openRedis(parseRedisAddress(server.url), 'patient', () => undefined);
});
afterAll(async () => {
  await closeRedis(redis);
  await server.dispose();
});

it('a Redis script accepts text and bytes as arguments, and runs whether or not Redis has loaded it', async () => {
  const echo = new EvalshaScript('return {KEYS[1], ARGV[1], ARGV[2]}');
  const bytes = Buffer.from([0, 255, 13, 10]);
  const expected = [Buffer.from('key'), Buffer.from('1'), bytes];
  await redis.script('FLUSH');
  expect(await echo.runForBuffers(redis, ['key'], [1, bytes])).toEqual(expected);
  expect(await echo.runForBuffers(redis, ['key'], [1, bytes])).toEqual(expected);
  expect(await echo.run(redis, ['key'], ['a', 'b'])).toEqual(['key', 'a', 'b']);
});

it('a Redis script accepts more arguments than a JavaScript function call allows', async () => {
  const count = new EvalshaScript('return #ARGV');
  const args = Array.from({ length: 400_000 }, (_, n) => n);
  expect(await count.run(redis, ['key'], args)).toBe(400_000);
});
