import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AccountConflictError, MAX_ACCOUNTS, RedisAccountStore, type StoredAccount } from '#accounts';
import { closeRedis, newId, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { startTestCluster } from '../../support/redis-cluster.js';
import { startTestRedis } from '../../support/redis-server.js';

const account = (id: string, rest: Partial<StoredAccount> = {}): StoredAccount => ({
  id,
  baseUrl: 'https://upstream.example/v1',
  sealedApiKey: 'sealed',
  requestsPerSecond: 10,
  polling: true,
  createdAt: '2026-11-21T00:00:00.000Z',
  updatedAt: '2026-11-21T00:00:00.000Z',
  ...rest,
});

describe.each([
  ['one Redis', startTestRedis],
  ['a Redis Cluster', startTestCluster],
])('the stored accounts (Redis layout: %s)', (_, start) => {
  let server: Awaited<ReturnType<typeof start>>;
  let redis: RedisClient;
  let prefix: string;
  let store: RedisAccountStore;
  /** The store of another process. */
  let other: RedisAccountStore;

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
    [store, other] = [new RedisAccountStore(redis, prefix), new RedisAccountStore(redis, prefix)];
  });

  it('share one revision number, which changes after each addition, change or removal of an account', async () => {
    const stamps = [await store.revision()];
    await store.add(account('a'));
    stamps.push(await other.revision());
    await store.change('a', (before) => ({ ...before, polling: false }));
    stamps.push(await other.revision());
    await store.remove('a');
    stamps.push(await other.revision());
    expect(new Set(stamps).size).toBe(4);
    expect(await other.revision()).toBe(stamps[3]);
  });

  it('can be found and listed by every process, with exactly the stored values, as soon as they are added', async () => {
    expect([await store.list(), await store.find('a')]).toEqual([[], undefined]);
    await store.add(account('a', { polling: false, requestsPerSecond: 0.5 }));
    await store.add(account('b'));
    expect(await other.find('a')).toEqual(account('a', { polling: false, requestsPerSecond: 0.5 }));
    expect((await other.list()).map(({ id }) => id).sort()).toEqual(['a', 'b']);
  });

  it('cannot include two accounts with the same id, even if these accounts are added simultaneously', async () => {
    const trials = ['1', '2', '3', '4'].map((key) => store.add(account('a', { sealedApiKey: key })));
    const refused = (await Promise.allSettled(trials)).flatMap((trial) =>
      trial.status === 'rejected' ? [trial.reason as unknown] : [],
    );
    expect(refused).toHaveLength(3);
    for (const reason of refused) expect(reason).toBeInstanceOf(AccountConflictError);
    expect((await store.find('a'))?.sealedApiKey).toBe('1');
  });

  it('lose no change if two processes change the same account at the same time', async () => {
    await store.add(account('a', { requestsPerSecond: 0 }));
    const more = (before: StoredAccount): StoredAccount => ({
      ...before,
      requestsPerSecond: before.requestsPerSecond + 1,
    });
    await Promise.all(Array.from({ length: 20 }, (__, i) => (i % 2 ? store : other).change('a', more)));
    expect((await store.find('a'))?.requestsPerSecond).toBe(20);
    expect(await store.change('nobody', more)).toBeUndefined();
    expect(await store.find('nobody')).toBeUndefined();
  });

  it('are not found after their removal, and their id is reserved until the record of their removal is deleted', async () => {
    await store.add(account('a'));
    await store.add(account('b'));
    const before = Date.now();
    expect(await Promise.all([store.remove('a'), other.remove('a')])).toEqual([true, false]);
    expect(await other.find('a')).toBeUndefined();
    expect((await other.list()).map(({ id }) => id)).toEqual(['b']);
    const [removed, ...others] = await store.listRemoved();
    expect([removed?.id, others]).toEqual(['a', []]);
    expect(removed?.removedAt).toBeGreaterThanOrEqual(before);
    expect(removed?.removedAt).toBeLessThanOrEqual(Date.now());
    await expect(store.add(account('a'))).rejects.toThrow(/still being removed/);
    await other.deleteRemovalRecord({ id: 'a', removedAt: (removed?.removedAt ?? 0) - 1 });
    expect(await store.listRemoved()).toHaveLength(1);
    await other.deleteRemovalRecord({ id: 'a', removedAt: removed?.removedAt ?? 0 });
    expect(await store.listRemoved()).toEqual([]);
    await store.add(account('a', { sealedApiKey: 'new' }));
    expect((await store.find('a'))?.sealedApiKey).toBe('new');
  });

  it('are not restored by a change that began before their removal', async () => {
    await store.add(account('a'));
    const changed = store.change('a', (before) => ({ ...before, polling: false }));
    const removed = other.remove('a');
    await Promise.all([changed, removed]);
    expect(await store.find('a')).toBeUndefined();
  });

  it('are limited in number, and the error at the limit says to delete an account first', async () => {
    const filled = Array.from({ length: MAX_ACCOUNTS }, (__, i) => `a${i}`);
    await redis.hset(`${prefix}:{.accounts}:accounts`, Object.fromEntries(filled.map((id) => [id, '{}'])));
    await expect(store.add(account('one-more'))).rejects.toThrow(/Delete one first/);
    await store.remove('a0');
    await store.add(account('one-more'));
  });
});
