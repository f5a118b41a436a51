/** The operations of a connection pool that the cache needs. */
interface Closable {
  close(): Promise<void>;
  destroy(): Promise<void>;
}

/** LRU cache of one connection pool per origin. An evicted pool finishes its requests, then closes. */
export class OriginCache<T extends Closable> {
  /** The pools by origin, least recently used first. */
  private readonly pools = new Map<string, T>();
  private readonly closing = new Map<T, Promise<void>>();

  constructor(
    private readonly maxPools: number,
    private readonly open: (origin: string) => T,
  ) {}

  /** Returns the pool of an origin, and opens it if necessary. */
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

  /** Destroys all pools and aborts their requests. */
  async close(): Promise<void> {
    const all = [...this.pools.values(), ...this.closing.keys()];
    this.pools.clear();
    await Promise.all(all.map((pool) => pool.destroy()));
    await Promise.all(this.closing.values());
  }

  private evict(pool: T): void {
    const closed = pool
      .close()
      // A pool that cannot be closed gracefully is destroyed.
      .catch(() => pool.destroy())
      .finally(() => this.closing.delete(pool));
    this.closing.set(pool, closed);
  }
}
