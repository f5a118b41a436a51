import { LRUCache } from 'lru-cache';

/** The operations of a connection pool that the cache needs. */
interface Closable {
  close(): Promise<void>;
  destroy(): Promise<void>;
}

/**
 * LRU cache of connection pools, one per origin (scheme, host and port). A pool that is evicted finishes its requests,
 * then closes.
 */
export class ConnectionPoolCache<T extends Closable> {
  private readonly pools: LRUCache<string, T>;
  /** Evicted pools that have not closed yet, each with a promise that resolves when the pool is closed. */
  private readonly closing = new Map<T, Promise<void>>();

  constructor(
    maxPools: number,
    private readonly open: (origin: string) => T,
  ) {
    this.pools = new LRUCache({
      max: maxPools,
      dispose: (pool, _origin, reason) => {
        if (reason === 'evict') this.evict(pool);
      },
    });
  }

  /** Returns the connection pool of an origin. Opens the pool if necessary. */
  get(origin: string): T {
    const cached = this.pools.get(origin);
    if (cached !== undefined) return cached;
    const pool = this.open(origin);
    this.pools.set(origin, pool);
    return pool;
  }

  /** Closes all connection pools at once and aborts their requests. */
  async close(): Promise<void> {
    const all = [...this.pools.values(), ...this.closing.keys()];
    this.pools.clear();
    await Promise.all(all.map((pool) => pool.destroy()));
    await Promise.all(this.closing.values());
  }

  private evict(pool: T): void {
    const closed = pool
      .close()
      // If the pool cannot be closed gracefully, destroy it.
      .catch(() => pool.destroy())
      .finally(() => this.closing.delete(pool));
    this.closing.set(pool, closed);
  }
}
