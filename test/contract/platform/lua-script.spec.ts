import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeRedis, LuaScript, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { startTestCluster } from '../../support/redis-cluster.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

let folder: string;
let server: TestRedis;
let redis: RedisClient;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidings-lua-'));
  server = await startTestRedis();
  redis = openRedis(parseRedisAddress(server.url), 'patient', () => undefined);
});
afterAll(async () => {
  await closeRedis(redis);
  await server.dispose();
  await rm(folder, { recursive: true });
});

/** Loads a script like the module `module.js` in the same folder. */
async function script(...lines: string[]): Promise<LuaScript> {
  await writeFile(join(folder, 'script.lua'), ['--- Does it.', ...lines].join('\n'));
  return LuaScript.from(pathToFileURL(join(folder, 'module.js')).href, 'script.lua');
}

describe('a Lua script in a file', () => {
  it('receives its keys and arguments by name; the caller writes these names in camel case', async () => {
    const echo = await script(
      ...[
        '-- @key contact_list   A key.',
        '-- @keys sets   Keys.',
        '-- @arg due_in   A time.',
        '-- @args events   Events.',
      ],
      ...[
        '-- @reply   All of them.',
        'return {contact_list, KEYS[sets_from], due_in, ARGV[events_from + 1]}',
      ],
    );
    const reply = await echo.run(
      redis,
      { sets: ['{a}set'], contactList: '{a}list' },
      { events: ['first', 'second'], dueIn: 5 },
    );
    expect(reply).toEqual(['{a}list', '{a}set', '5', 'second']);
  });

  it('returns an array reply as an object with the field names that the file declares', async () => {
    const fields = ['-- @field wait_ms   A time.', '-- @field gone   Nothing.', '-- @fields ids   Ids.'];
    const reading = await script('-- @reply   An array.', ...fields, "return {1, false, 'a', 'b'}");
    expect(await reading.run(redis, {})).toEqual({ waitMs: 1, gone: null, ids: ['a', 'b'] });
  });

  it('returns a reply unchanged if the reply is not an array', async () => {
    const none = await script('-- @reply   Nil.', '-- @field wait_ms   A time.', 'return nil');
    expect(await none.run(redis, {})).toBeNull();
  });

  it('does not run if a key or an argument is missing, unknown or of the wrong type', async () => {
    const one = await script(
      '-- @key list   A key.',
      '-- @arg id   An id.',
      '-- @args ids   Ids.',
      '-- @reply   1.',
    );
    const args = { id: 1, ids: [] };
    await expect(one.run(redis, {}, args)).rejects.toThrow('no key list is given');
    await expect(one.run(redis, { list: 'a', set: 'b' }, args)).rejects.toThrow('no key is named set');
    await expect(one.run(redis, { list: 'a' }, { ids: [] })).rejects.toThrow('no argument id is given');
    await expect(one.run(redis, { list: 'a' }, { id: 1, ids: 2 })).rejects.toThrow(
      'no list of arguments ids',
    );
    await expect(one.run(redis, { list: 'a' }, { id: [1], ids: [] })).rejects.toThrow('no argument id');
  });

  it.each([
    ['{a}list', 'still here'],
    ['{a}list', 'already there'],
    ['list', 'still here'],
  ])(
    'on a Redis Cluster writes nothing while the slot of its keys moves to another node (key %s: %s)',
    async (list, place) => {
      await using cluster = await startTestCluster();
      const writing = await script(
        '-- @key list   A list.',
        '-- @reply   1.',
        "redis.call('RPUSH', list, 1)",
        "redis.call('RPUSH', list == 'list' and '{list}:other' or list .. ':other', 1)",
        'return 1',
      );
      const client = openRedis(parseRedisAddress(cluster.url), 'failFast', () => undefined);
      try {
        await once(client, 'ready');
        const owner = await cluster.masterOf(list);
        const slot = Number(await owner.ask('CLUSTER', 'KEYSLOT', list));
        const next = cluster.masters.find((master) => master !== owner) ?? owner;
        await client.rpush(list, 0);
        await next.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(await owner.ask('CLUSTER', 'MYID')));
        await owner.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(await next.ask('CLUSTER', 'MYID')));
        const password = /:([^@]*)@/.exec(cluster.url.slice('redis-cluster://'.length))?.[1] ?? '';
        if (place === 'already there')
          await owner.ask('MIGRATE', '127.0.0.1', next.port, list, 0, 5_000, 'AUTH', password);
        await expect(writing.run(client, { list })).rejects.toThrow(
          /TRYAGAIN|Command timed out|Too many Cluster redirections/,
        );
        expect(await client.llen(list)).toBe(1);
        if (place === 'already there') return;
        for (const master of [next, owner]) await master.ask('CLUSTER', 'SETSLOT', slot, 'STABLE');
        expect(await writing.run(client, { list })).toBe(1);
      } finally {
        await closeRedis(client);
      }
    },
  );
});
