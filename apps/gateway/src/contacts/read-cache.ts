import { LRUCache } from 'lru-cache';
import { SharedCalls } from './shared-calls.js';

/** All that is kept, in bytes: what does not fit gives way, the longest unused first. */
const MOST_BYTES = 67_108_864;
/** A character may take two, and the contacts of a list are kept beside its text once they were asked for. */
const BYTES_A_CHARACTER = 6;

/** What upstream said, and when it was asked, by a steady clock. */
export interface KeptReply {
  readonly text: string;
  readonly askedAt: number;
}

/** An answer to a read. */
export interface ReadAnswer {
  reply: KeptReply;
  /** Whole seconds since upstream was asked; absent where it was not asked before this read came. */
  age?: number;
}

/** Answers reads from what was read a moment ago. Failures are never kept, and reads at the same moment are one. */
export class ReadCache {
  private readonly kept: LRUCache<string, KeptReply> | undefined;
  private readonly calls = new SharedCalls<KeptReply>();

  /**
   * @param maxAgeMs 0: nothing is kept
   * @param now a steady clock, in milliseconds
   */
  constructor(
    maxAgeMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    if (maxAgeMs === 0) return;
    this.kept = new LRUCache({
      maxSize: MOST_BYTES,
      sizeCalculation: ({ text }, key) => 1 + (text.length + key.length) * BYTES_A_CHARACTER,
      ttl: maxAgeMs,
    });
  }

  /** @param key whose read of what it is */
  async read(key: readonly unknown[], ask: () => Promise<string>): Promise<ReadAnswer> {
    const name = JSON.stringify(key);
    const kept = this.kept?.get(name);
    if (kept !== undefined) return { reply: kept, age: this.ageOf(kept) };
    const cameAt = this.now();
    const reply = await this.calls.share(name, async () => {
      const askedAt = this.now();
      const fresh = { text: await ask(), askedAt };
      this.kept?.set(name, fresh, { start: askedAt });
      return fresh;
    });
    // Asked before this read came, upstream may say what was so before that.
    return reply.askedAt < cameAt ? { reply, age: this.ageOf(reply) } : { reply };
  }

  private ageOf({ askedAt }: KeptReply): number {
    return Math.floor((this.now() - askedAt) / 1_000);
  }
}
