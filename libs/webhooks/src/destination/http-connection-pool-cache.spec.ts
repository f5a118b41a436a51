import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { ConnectionPoolCache } from './http-connection-pool-cache.js';

const ORIGIN = 'http://receiver.example';
/** An age that no test reaches. */
const ETERNITY_MS = 3_600_000;

/** A pool that records how it was closed. Its requests end when the test says so. */
class FakePool {
  isClosing = false;
  isDestroyed = false;
  endRequests!: () => void;
  private readonly requests = new Promise<void>((resolve) => (this.endRequests = resolve));

  close(): Promise<void> {
    this.isClosing = true;
    return this.requests;
  }

  destroy(): Promise<void> {
    this.isDestroyed = true;
    this.endRequests();
    return Promise.resolve();
  }
}

const caches: ConnectionPoolCache<FakePool>[] = [];
afterEach(async () => {
  for (const cache of caches.splice(0)) await cache.close();
});

function cacheOf(maxPools: number, maxAgeMs: number): ConnectionPoolCache<FakePool> {
  const cache = new ConnectionPoolCache({ maxPools, maxAgeMs }, () => new FakePool());
  caches.push(cache);
  return cache;
}

it('the connection pool cache uses one pool per origin', () => {
  const cache = cacheOf(2, ETERNITY_MS);
  const pool = cache.get(ORIGIN);
  expect(cache.get(ORIGIN)).toBe(pool);
  expect(cache.get('http://other.example')).not.toBe(pool);
  expect(pool.isClosing).toBe(false);
});

it('the connection pool cache opens a new pool when a pool reaches its maximum age, and lets the requests of the old pool end', async () => {
  const cache = cacheOf(2, 1);
  const old = cache.get(ORIGIN);
  let current = old;
  while (current === old) {
    await pause(10);
    current = cache.get(ORIGIN);
  }
  expect(old).toMatchObject({ isClosing: true, isDestroyed: false });
  expect(current).toMatchObject({ isClosing: false, isDestroyed: false });
});

it('the connection pool cache closes the least recently used pool when it has too many pools', () => {
  const cache = cacheOf(1, ETERNITY_MS);
  const first = cache.get(ORIGIN);
  cache.get('http://other.example');
  expect(first).toMatchObject({ isClosing: true, isDestroyed: false });
});

it('the connection pool cache destroys all pools when it is closed, even pools with running requests', async () => {
  const cache = cacheOf(1, ETERNITY_MS);
  const pools = [cache.get(ORIGIN), cache.get('http://other.example')];
  await cache.close();
  expect(pools.map(({ isDestroyed }) => isDestroyed)).toEqual([true, true]);
});
