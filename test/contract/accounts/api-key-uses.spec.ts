import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ApiKeyRegistry, FixedAccountDirectory, RedisAccountStore, RedisApiKeyStore } from '#accounts';
import {
  clockOfThisMachine,
  closeRedis,
  newId,
  openRedis,
  parseRedisAddress,
  type RedisClient,
} from '#platform';
import { startTestCluster } from '../../support/redis-cluster.js';
import { startTestRedis } from '../../support/redis-server.js';

const FIXED = new FixedAccountDirectory([
  { id: 'default', baseUrl: '', apiKey: '', requestsPerSecond: 1, polling: true },
]);
const TIME = Date.parse('2026-11-25T04:00:00Z');

describe.each([
  ['one Redis', startTestRedis],
  ['a Redis Cluster', startTestCluster],
])('the recorded uses of API keys (Redis layout: %s)', (_, start) => {
  let server: Awaited<ReturnType<typeof start>>;
  let redis: RedisClient;
  let prefix: string;
  let store: RedisApiKeyStore;
  let registry: ApiKeyRegistry;

  beforeAll(async () => {
    server = await start();
    redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
    await once(redis, 'ready');
  });
  afterAll(async () => {
    await closeRedis(redis);
    await server.dispose();
  });
  beforeEach(() => {
    prefix = newId('req');
    store = new RedisApiKeyStore(redis, prefix);
    registry = new ApiKeyRegistry(FIXED, store, clockOfThisMachine);
  });

  const keyOf = (name: string): string => `${prefix}:{.accounts}:${name}`;
  const stored = (): Promise<Record<string, string>> => redis.hgetall(keyOf('api-key-uses'));
  const record = (uses: Readonly<Record<string, number>>): Promise<void> =>
    store.recordUses(new Map(Object.entries(uses)));
  async function makeKey(account = 'default'): Promise<string> {
    const made = await registry.create({ account, name: 'k', scopes: ['admin'] });
    return made?.apiKey.id ?? '';
  }

  it('appear in the list of keys as the time of the last use, also for the key in API_KEY; the time of an unused key is null', async () => {
    const [one, two] = [await makeKey(), await makeKey()];
    await record({ [one]: TIME, environment: TIME + 1 });
    await record({ [one]: TIME - 60_000 });
    const listed = (await registry.list()).map(({ id, lastUsedAt }) => [id, lastUsedAt]);
    expect(Object.fromEntries(listed)).toEqual({
      environment: '2026-11-25T04:00:00.001Z',
      [one]: '2026-11-25T04:00:00.000Z',
      [two]: null,
    });
    await record({ [one]: TIME + 60_000 });
    expect((await store.lastUses([one, two])).get(one)).toBe(TIME + 60_000);
  });

  it('are stored separately from the API keys, so that earlier builds can still read the keys', async () => {
    const id = await makeKey();
    const before = await redis.hgetall(keyOf('api-keys'));
    await record({ [id]: TIME });
    expect(await redis.hgetall(keyOf('api-keys'))).toEqual(before);
  });

  it('are all recorded, even if there are too many of them for one call of the Redis script', async () => {
    const keys = Object.fromEntries(Array.from({ length: 1_201 }, (__, i) => [`key_${i}`, '{}']));
    await redis.hset(keyOf('api-keys'), keys);
    await store.recordUses(new Map(Object.keys(keys).map((id) => [id, TIME])));
    expect(Object.keys(await stored())).toHaveLength(1_201);
  });

  it('are removed when their key or account is removed; a later use of a removed key is not recorded', async () => {
    const accounts = new RedisAccountStore(redis, prefix);
    const times = { createdAt: '2026-11-21T00:00:00.000Z', updatedAt: '2026-11-21T00:00:00.000Z' };
    const rest = { baseUrl: 'https://u.example/v1', sealedApiKey: 'x', requestsPerSecond: 1, polling: true };
    await accounts.add({ id: 'sales', ...rest, ...times });
    const [kept, removed, ofAccount] = [await makeKey(), await makeKey(), await makeKey('sales')];
    await record({ [kept]: TIME, [removed]: TIME, [ofAccount]: TIME });
    expect(Object.keys(await stored())).toHaveLength(3);
    await registry.remove(removed);
    await accounts.remove('sales');
    await record({ [removed]: TIME + 1, [ofAccount]: TIME + 1, key_none: TIME });
    expect(await stored()).toEqual({ [kept]: String(TIME) });
  });

  it('that an earlier build left behind for removed API keys are removed when the next use is recorded', async () => {
    const ids = [await makeKey(), await makeKey(), await makeKey()];
    await record(Object.fromEntries(ids.map((id) => [id, TIME])));
    await redis.hdel(keyOf('api-keys'), ...ids);
    await record({ environment: TIME });
    expect(await stored()).toEqual({ environment: String(TIME) });
  });
});
