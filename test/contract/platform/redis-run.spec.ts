import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  closeRedis,
  lastSeenRedisRunId,
  LuaScript,
  openRedis,
  parseRedisAddress,
  type RedisClient,
} from '#platform';
import { eventually } from '../../support/eventually.js';
import { startTestPair } from '../../support/redis-pair.js';
import { startTestRedis } from '../../support/redis-server.js';

let folder: string;
let currentRun: LuaScript;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidings-run-'));
  const lines = [
    '--- Returns the current run.',
    '-- @reply   The run.',
    '--- @include "@platform/redis/lua/includes/redis-run.lua"',
    'return redis_run()',
  ];
  await writeFile(join(folder, 'run.lua'), lines.join('\n'));
  currentRun = LuaScript.from(pathToFileURL(join(folder, 'module.js')).href, 'run.lua');
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const connect = (url: string): RedisClient => openRedis(parseRedisAddress(url), 'patient', () => undefined);

const knownRun = (redis: RedisClient): Promise<string> =>
  eventually('the run is known', () => lastSeenRedisRunId(redis) || undefined);

it('a connection and a Lua script read the same Redis run id; the id changes at a restart, and is unknown while Redis is down', async () => {
  await using server = await startTestRedis();
  const redis = connect(server.url);
  expect(lastSeenRedisRunId(redis)).toBe('');
  const first = await knownRun(redis);
  expect(first).toBe(await currentRun.run(redis, {}));
  server.server.kill('SIGKILL');
  await eventually('the loss of the connection is noticed', () => lastSeenRedisRunId(redis) === '');
  await server.server.restart();
  const second = await knownRun(redis);
  expect(second).toBe(await currentRun.run(redis, {}));
  expect(second).not.toBe(first);
  await closeRedis(redis);
});

it('a connection and a Lua script read the same Redis run id after the promotion of a replica', async () => {
  const pair = await startTestPair();
  await pair.switchOver();
  const redis = connect(pair.url);
  const run = await knownRun(redis);
  expect(run).toContain(':');
  expect(run).toBe(await currentRun.run(redis, {}));
  await closeRedis(redis);
  await pair.dispose();
});
