import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster, type Redis } from 'ioredis';
import { RedisAccountEraser, RedisAccountStore } from '#accounts';
import {
  accountKeys,
  closeRedis,
  createLogger,
  newId,
  openRedis,
  parseRedisAddress,
  type RedisClient,
} from '#platform';
import { type BlobStore, BlobStoreUnavailableError, FileBlobStore } from '#blobs';
import { AccountRemoval } from '../../../apps/worker/src/removal/account-removal.js';
import { eventually } from '../../support/eventually.js';
import { startTestCluster } from '../../support/redis-cluster.js';
import { startTestRedis } from '../../support/redis-server.js';

/** Time after which the writers of these tests have certainly ended, in milliseconds. */
const LATE_MS = 2_000;
const logger = createLogger('test', 'silent');
/** State of a blob store that all gateways share with the worker. */
const SHARED = { isSharingConfirmed: true };

describe.each([
  ['one Redis', startTestRedis],
  ['a Redis Cluster', startTestCluster],
])('the erasure of a removed account (Redis layout: %s)', (_, start) => {
  let server: Awaited<ReturnType<typeof start>>;
  let redis: RedisClient;
  let prefix: string;
  let store: RedisAccountStore;
  let directory: string;
  let blobs: BlobStore;

  beforeAll(async () => {
    server = await start();
    redis = openRedis(parseRedisAddress(server.url), 'patient', () => undefined);
    await once(redis, 'ready');
  });
  afterAll(async () => {
    await closeRedis(redis);
    await server.dispose();
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));
  beforeEach(async () => {
    // Without escaping, this prefix would match keys of other installations.
    prefix = `t[a-z]*?${newId('req')}`;
    store = new RedisAccountStore(redis, prefix);
    directory = await mkdtemp(join(tmpdir(), 'tidings-removal-'));
    blobs = new FileBlobStore(directory);
  });

  const erasure = (leaseMs?: number): RedisAccountEraser => new RedisAccountEraser(redis, prefix, leaseMs);
  const removal = (by = erasure()): AccountRemoval =>
    new AccountRemoval(
      store,
      by,
      blobs,
      SHARED,
      { lateMs: LATE_MS, checkIntervalMs: 20, repeatAfterMs: 50 },
      logger,
    );
  const yes = (): Promise<boolean> => Promise.resolve(true);

  const masters = (): Redis[] => (redis instanceof Cluster ? redis.nodes('master') : [redis]);

  /** All keys with the prefix and their values, except the registry's own keys. */
  async function everything(): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (const node of masters()) {
      for (const key of await node.keys('*')) {
        if (!key.startsWith(prefix) || key.includes('{.accounts}')) continue;
        found.set(key, await redis.dump(key));
      }
    }
    return found;
  }

  const keysOf = async (id: string): Promise<string[]> =>
    [...(await everything()).keys()].filter((key) => key.startsWith(`${prefix}:{${id}}:`));

  /** Writes one value of each type, and more keys than one step removes. */
  async function fill(id: string, count = 1_500): Promise<void> {
    const keys = accountKeys(prefix, id);
    await redis.hset(keys('hash'), 'a', '1');
    await redis.zadd(keys('set', 'of:many'), 1, 'a');
    await redis.rpush(keys('lane', '+15551234567'), 'a');
    await redis.xadd(keys('events'), '*', 'a', '1');
    await redis.sadd(keys('{tag}'), '1');
    await Promise.all(Array.from({ length: count }, (__, i) => redis.set(keys('send', String(i)), 'x')));
    await blobs.put(id, Readable.from([Buffer.from('picture')]), 100);
    await blobs.put(id, Readable.from([Buffer.from('another')]), 100);
  }

  async function removed(id: string): Promise<void> {
    const at = '2026-11-21T00:00:00.000Z';
    await store.add({
      ...{ id, baseUrl: 'http://u/v1', sealedApiKey: 's', requestsPerSecond: 1, polling: true },
      ...{ createdAt: at, updatedAt: at },
    });
    await fill(id);
    await store.remove(id);
  }

  it('leaves no Redis key and no file of the account, and does not change the data of other accounts', async () => {
    const others = ['a-b', 'aa', 'default', '0a', 'a_'];
    for (const id of others) await fill(id, 20);
    const before = await everything();
    await removed('a');
    expect((await keysOf('a')).length).toBeGreaterThan(1_500);
    const worker = removal();
    worker.start();
    await eventually('the id of the account is free', async () => (await store.listRemoved()).length === 0);
    await worker.stop();
    expect(await everything()).toEqual(before);
    expect(await blobs.list('a', '', 10)).toEqual([]);
    for (const id of others) expect(await blobs.list(id, '', 10)).toHaveLength(2);
  });

  it('frees the memory of the account even while Redis is full', async () => {
    await removed('a');
    for (const node of masters()) {
      const used = Number(/^used_memory:(\d+)/m.exec(await node.info('memory'))?.[1]);
      await node.config('SET', 'maxmemory', String(Math.round(used / 2)));
    }
    const worker = removal();
    worker.start();
    try {
      await expect(redis.set(`${prefix}:more`, 'x')).rejects.toThrow(/OOM/);
      await eventually('the id of the account is free', async () => (await store.listRemoved()).length === 0);
      // The worker still holds the lease of the erasure.
      await worker.stop();
      expect(await keysOf('a')).toEqual([]);
    } finally {
      for (const node of masters()) await node.config('SET', 'maxmemory', '0');
      await worker.stop();
    }
  });

  it('also deletes data that was written during or after the removal of the account', async () => {
    await removed('a');
    const keys = accountKeys(prefix, 'a');
    let writing = true;
    let written = 0;
    const end = performance.now() + LATE_MS * 0.2;
    const late = (async () => {
      while (performance.now() < end) {
        await redis.set(keys('late', String(written)), 'x');
        written += 1;
      }
      await blobs.put('a', Readable.from([Buffer.from('late')]), 100).catch((error: unknown) => {
        // The file was removed while it was being written.
        if (!(error instanceof BlobStoreUnavailableError)) throw error;
      });
      writing = false;
    })();
    const workers = [removal(), removal(), removal()];
    for (const worker of workers) worker.start();
    await eventually('the id of the account is free', async () => (await store.listRemoved()).length === 0);
    await late;
    await Promise.all(workers.map((worker) => worker.stop()));
    expect([writing, written > 0]).toEqual([false, true]);
    expect(await keysOf('a')).toEqual([]);
    expect(await blobs.list('a', '', 10)).toEqual([]);
  });

  it('keeps the id reserved until it is certain that the gateways use the same blob store as the worker', async () => {
    await removed('a');
    const unshared = new FileBlobStore(join(directory, 'unshared'));
    const removeFrom = async (files: BlobStore, monitor: typeof SHARED): Promise<void> => {
      const settings = { lateMs: -1, repeatAfterMs: 0 };
      const worker = new AccountRemoval(store, erasure(), files, monitor, settings, logger);
      // The first pass removes what it finds, and the second finds nothing.
      for (let passes = 0; passes < 3; passes += 1) await worker.runDuePasses();
    };
    await removeFrom(unshared, { isSharingConfirmed: false });
    expect(await keysOf('a')).toEqual([]);
    expect((await store.listRemoved()).map(({ id }) => id)).toEqual(['a']);
    await removeFrom(blobs, SHARED);
    expect(await blobs.list('a', '', 10)).toEqual([]);
    expect(await store.listRemoved()).toEqual([]);
  });

  it('is completed by another worker if the first worker dies', async () => {
    await removed('a');
    const dying = openRedis(parseRedisAddress(server.url), 'patient', () => undefined);
    await once(dying, 'ready');
    // This worker dies after it has got the lease.
    const passed = new RedisAccountEraser(dying, prefix, 300).pass('a', () => {
      dying.disconnect();
      return Promise.resolve(true);
    });
    await expect(passed).rejects.toThrow();
    const worker = removal(erasure(300));
    worker.start();
    await eventually('the id of the account is free', async () => (await store.listRemoved()).length === 0);
    await worker.stop();
    expect(await keysOf('a')).toEqual([]);
  });

  it('deletes nothing of a new account with the same id, even if the erasure was paused and resumes after the new account was created', async () => {
    await removed('a');
    let wake = (): void => undefined;
    let asked = false;
    const paused = erasure(50).pass('a', () => {
      asked = true;
      return new Promise((resolve) => {
        wake = () => {
          resolve(true);
        };
      });
    });
    await eventually('the pass is paused', () => asked);
    const worker = removal();
    worker.start();
    await eventually('the id of the account is free', async () => (await store.listRemoved()).length === 0);
    await worker.stop();
    await fill('a', 5);
    const before = await everything();
    wake();
    expect(await paused).toBeUndefined();
    expect(await everything()).toEqual(before);
  });

  it('deletes no file of a new account with the same id, even if the new account was created while files were listed', async () => {
    await removed('a');
    const put = async (): Promise<string> =>
      (await blobs.put('a', Readable.from([Buffer.from('of the new account')]), 100)).id;
    let file: string | undefined;
    const slow: Pick<BlobStore, 'list' | 'remove'> = {
      list: async (...args) => {
        for (const account of await store.listRemoved()) await store.deleteRemovalRecord(account);
        file ??= await put();
        return blobs.list(...args);
      },
      remove: (id) => blobs.remove(id),
    };
    await new AccountRemoval(store, erasure(), slow, SHARED, { lateMs: LATE_MS }, logger).runDuePasses();
    expect((await blobs.list('a', '', 10)).map(({ id }) => id)).toContain(file);
  });

  it('is performed by only one process at a time, so that no process still erases data when a new account gets the same id', async () => {
    await removed('a');
    let other: number | undefined;
    let asked = false;
    const slow: Pick<BlobStore, 'list' | 'remove'> = {
      list: async (...args) => {
        const found = await blobs.list(...args);
        if (found.length > 0) return found;
        asked = true;
        other = await erasure().pass('a', yes);
        return [];
      },
      remove: (id) => blobs.remove(id),
    };
    const worker = new AccountRemoval(
      store,
      erasure(),
      slow,
      SHARED,
      { lateMs: -1, checkIntervalMs: 20 },
      logger,
    );
    worker.start();
    await eventually('the id of the account is free', async () => (await store.listRemoved()).length === 0);
    await worker.stop();
    expect([asked, other]).toEqual([true, undefined]);
  });

  it('stops when the worker begins to shut down', async () => {
    await removed('a');
    const before = await everything();
    const stop = new AbortController();
    const begun = (): Promise<boolean> => {
      stop.abort();
      return Promise.resolve(true);
    };
    expect(await erasure().pass('a', begun, { signal: stop.signal })).toBeUndefined();
    expect(await everything()).toEqual(before);
  });

  it('deletes nothing if the account is not on the list of removed accounts', async () => {
    await fill('a', 5);
    const before = await everything();
    expect(await erasure().pass('a', () => Promise.resolve(false))).toBeUndefined();
    expect(await everything()).toEqual(before);
  });

  it.each(['default', '.accounts', '', 'a}:{b', '*'])(
    'is refused for the id %p, which is invalid or `default`',
    async (id) => {
      await expect(erasure().pass(id, yes)).rejects.toThrow(/not an account that can be erased/);
    },
  );
});
