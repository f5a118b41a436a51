/** The operations of a connection pool that the cache needs. */
interface Closable {
  close(): Promise<void>;
  destroy(): Promise<void>;
}

/**
 * LRU cache of connection pools, one per origin (scheme, host and port). A pool that is evicted finishes its requests,
 * then closes.
 */
export class OriginCache<T extends Closable> {
  /** The connection pools by origin, least recently used first. */
  private readonly pools = new Map<string, T>();
  /** Evicted pools that have not closed yet, each with a promise that resolves when the pool is closed. */
  private readonly closing = new Map<T, Promise<void>>();

  constructor(
    private readonly maxPools: number,
    private readonly open: (origin: string) => T,
  ) {}

  /** Returns the connection pool of an origin. Opens the pool if necessary. */
  get(origin: string): T {
    const pool = this.pools.get(origin) ?? this.open(origin);
    this.pools.delete(origin);
    this.pools.set(origin, pool);
    for (const [oldest, unused] of this.pools) {
      if (this.pools.size <= this.maxPools) break;
      this.pools.delete(oldest);
      this.evict(unused);
    }
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
