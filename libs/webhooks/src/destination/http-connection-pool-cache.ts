import { LRUCache } from 'lru-cache';

/** The operations of a connection pool that the cache needs. */
interface Closable {
  close(): Promise<void>;
  destroy(): Promise<void>;
}

/** Maximum error of the measured age of a pool, in milliseconds. */
const AGE_RESOLUTION_MS = 100;

/**
 * LRU cache of connection pools, one per origin (scheme, host and port). A pool that is evicted or reaches its max age
 * finishes its requests, then closes. No connection therefore gets a new request after the max age.
 */
export class ConnectionPoolCache<T extends Closable> {
  private readonly pools: LRUCache<string, T>;
  /** Removed pools that have not closed yet, each with a promise that resolves when the pool is closed. */
  private readonly closing = new Map<T, Promise<void>>();

  /** @param limits `maxAgeMs`: max age of a pool, in milliseconds */
  constructor(
    { maxPools, maxAgeMs }: { maxPools: number; maxAgeMs: number },
    private readonly open: (origin: string) => T,
  ) {
    this.pools = new LRUCache({
      max: maxPools,
      ttl: maxAgeMs,
      ttlResolution: AGE_RESOLUTION_MS,
      dispose: (pool, _origin, reason) => {
        if (reason === 'evict' || reason === 'expire') this.retire(pool);
      },
    });
  }

  /** Returns the connection pool of an origin. Opens a pool if there is none or the old pool has expired. */
  get(origin: string): T {
    const cached = this.pools.get(origin);
    if (cached !== undefined) return cached;
    const pool = this.open(origin);
    this.pools.set(origin, pool);
    return pool;
  }

  /** Closes all connection pools immediately, and aborts their requests. */
  async close(): Promise<void> {
    const all = [...this.pools.values(), ...this.closing.keys()];
    this.pools.clear();
    await Promise.all(all.map((pool) => pool.destroy()));
    await Promise.all(this.closing.values());
  }

  private retire(pool: T): void {
    const closed = pool
      .close()
      // If the pool cannot be closed gracefully, destroy it.
      .catch(() => pool.destroy())
      .finally(() => this.closing.delete(pool));
    this.closing.set(pool, closed);
  }
}
