import { LRUCache } from 'lru-cache';
import { SharedCalls } from '../calls/shared-calls.js';

/** Maximum size of the cache, in bytes. The least recently used replies are evicted first. */
const MAX_BYTES = 67_108_864;
/** Estimated memory per character: up to two bytes of text, and the parsed contacts of a list. */
const BYTES_PER_CHARACTER = 6;

/** A reply of upstream. */
export interface CachedReply {
  readonly text: string;
  /** Time of the upstream request on a monotonic clock, in milliseconds. */
  readonly requestedAt: number;
}

/** The answer to a read. */
export interface CachedRead {
  reply: CachedReply;
  /** Time since the upstream request, in whole seconds. Absent if that request began after this read. */
  age?: number;
}

/** Caches replies of upstream for a short time. Failures are not cached. Simultaneous reads share one upstream request. */
export class ReadCache {
  private readonly cache: LRUCache<string, CachedReply> | undefined;
  private readonly calls = new SharedCalls<CachedReply>();

  /**
   * @param maxAgeMs time for which a reply is reused, in milliseconds; 0 turns the cache off
   * @param now monotonic clock, in milliseconds
   */
  constructor(
    maxAgeMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    if (maxAgeMs === 0) return;
    this.cache = new LRUCache({
      maxSize: MAX_BYTES,
      sizeCalculation: ({ text }, key) => 1 + (text.length + key.length) * BYTES_PER_CHARACTER,
      ttl: maxAgeMs,
    });
  }

  /** Returns true if {@link read} would not ask upstream, because the reply is cached or already requested. */
  has(key: readonly unknown[]): boolean {
    const name = JSON.stringify(key);
    return this.cache?.has(name) === true || this.calls.isRunning(name);
  }

  /** Returns a cached reply, or asks upstream. @param key identifies the account and the request */
  async read(key: readonly unknown[], ask: () => Promise<string>): Promise<CachedRead> {
    const name = JSON.stringify(key);
    const kept = this.cache?.get(name);
    if (kept !== undefined) return { reply: kept, age: this.ageOf(kept) };
    const startedAt = this.now();
    const reply = await this.calls.share(name, async () => {
      const requestedAt = this.now();
      const fresh = { text: await ask(), requestedAt };
      this.cache?.set(name, fresh, { start: requestedAt });
      return fresh;
    });
    // A shared upstream request that began before this read may have older data, so the answer has an age.
    return reply.requestedAt < startedAt ? { reply, age: this.ageOf(reply) } : { reply };
  }

  private ageOf({ requestedAt }: CachedReply): number {
    return Math.floor((this.now() - requestedAt) / 1_000);
  }
}
