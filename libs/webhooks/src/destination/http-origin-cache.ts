/** What a connection pool must be able to do to be kept here. */
interface Closable {
  close(): Promise<void>;
  destroy(): Promise<void>;
}

/** Keeps one pool per origin, the least recently used ones only up to a number; those let go end what is under way. */
export class OriginCache<T extends Closable> {
  /** In the order of their last use. */
  private readonly kept = new Map<string, T>();
  private readonly closing = new Map<T, Promise<void>>();

  constructor(
    private readonly most: number,
    private readonly open: (origin: string) => T,
  ) {}

  get(origin: string): T {
    const pool = this.kept.get(origin) ?? this.open(origin);
    this.kept.delete(origin);
    this.kept.set(origin, pool);
    for (const [oldest, unused] of this.kept) {
      if (this.kept.size <= this.most) break;
      this.kept.delete(oldest);
      this.letGo(unused);
    }
    return pool;
  }

  /** Ends all pools, and with them what is still under way. */
  async close(): Promise<void> {
    const all = [...this.kept.values(), ...this.closing.keys()];
    this.kept.clear();
    await Promise.all(all.map((pool) => pool.destroy()));
    await Promise.all(this.closing.values());
  }

  private letGo(pool: T): void {
    const closed = pool
      .close()
      // A pool that cannot be closed in good order is cut.
      .catch(() => pool.destroy())
      .finally(() => this.closing.delete(pool));
    this.closing.set(pool, closed);
  }
}
