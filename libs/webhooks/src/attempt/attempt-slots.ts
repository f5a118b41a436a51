/** Max number of slots that a webhook takes at once, and so of deliveries that are claimed in one step. */
const MAX_TAKEN = 50;

/** A webhook that has no slot and waits for one. */
interface Waiter {
  endpoint: string;
  /** Called with the number of slots that the webhook gets. */
  resolve: (count: number) => void;
}

/** The attempts that a webhook has started in its slots. */
export interface StartedAttempts {
  /**
   * Each promise resolves when its attempt ends: to true if the webhook then needs more slots, otherwise to false. It
   * never rejects.
   */
  attempts: readonly Promise<boolean>[];
}

/**
 * Limits how many delivery attempts one process makes at the same time. Each attempt occupies one slot. A webhook
 * gets at most half of the slots that no other webhook occupies, but at least one slot if a slot is free. Free slots
 * therefore remain for other webhooks when many receivers hang.
 */
export class AttemptSlots {
  private free: number;
  /** Number of taken slots of each webhook that has any. */
  private readonly taken = new Map<string, number>();
  /** The webhooks that wait for a slot, in the order in which they began to wait. Empty if a slot is free. */
  private readonly waiting = new Set<Waiter>();
  /** The webhooks that were refused more slots, and the functions that make them ask again. */
  private readonly refused = new Map<string, () => void>();
  private isClosed = false;

  /** @param total number of slots */
  constructor(total: number) {
    this.free = total;
  }

  /** True if no slot is free. */
  get isFull(): boolean {
    return this.free === 0;
  }

  /**
   * Takes free slots for a webhook, and calls `start` with their number. Each attempt that `start` returns keeps one
   * slot until it ends; the other slots are free again at once. If no slot is free, a webhook that has no slot waits
   * for its turn: webhooks get slots in the order in which they began to wait. A webhook that has slots but may not
   * have more is refused instead.
   * @param retry must call this method again. Called when an attempt has ended and the webhook needs more slots.
   * After a refusal, also called once, as soon as the webhook may have more slots
   * @returns the result of `start`; undefined without a call of `start` if the webhook was refused, or if no slot is
   * free and {@link close} was called
   */
  async use<Started extends StartedAttempts>(
    endpoint: string,
    start: (count: number) => Promise<Started>,
    retry: () => void,
  ): Promise<Started | undefined> {
    let unused = await this.acquire(endpoint, retry);
    if (unused === 0) return undefined;
    try {
      const started = await start(unused);
      for (const attempt of started.attempts) {
        unused--;
        void attempt.then((needsMore) => {
          this.release(endpoint, 1);
          if (needsMore) retry();
        });
      }
      return started;
    } finally {
      this.release(endpoint, unused);
    }
  }

  /** Ends all waiting calls of {@link use}. From now on, no call of {@link use} waits. */
  close(): void {
    this.isClosed = true;
    for (const { resolve } of this.waiting) resolve(0);
    this.waiting.clear();
  }

  private acquire(endpoint: string, retry: () => void): Promise<number> {
    if (this.free === 0 && !this.taken.has(endpoint) && !this.isClosed)
      return new Promise((resolve) => this.waiting.add({ endpoint, resolve }));
    const count = this.take(endpoint, MAX_TAKEN);
    if (count === 0) this.refused.set(endpoint, retry);
    return Promise.resolve(count);
  }

  /**
   * Frees slots of a webhook. Webhooks that wait for slots get their share of the free slots at once. Then refused
   * webhooks that may have more slots ask again.
   */
  private release(endpoint: string, count: number): void {
    if (count === 0) return;
    const left = (this.taken.get(endpoint) ?? 0) - count;
    if (left > 0) this.taken.set(endpoint, left);
    else this.taken.delete(endpoint);
    this.free += count;
    for (const waiter of this.waiting) {
      if (this.isFull) return;
      this.waiting.delete(waiter);
      // Each waiting webhook gets an equal part of the free slots. One further part stays free for a webhook that
      // asks later.
      const part = Math.ceil(this.free / (this.waiting.size + 2));
      waiter.resolve(this.take(waiter.endpoint, Math.min(part, MAX_TAKEN)));
    }
    for (const [other, retry] of this.refused) {
      if (this.isFull) return;
      if (this.shareOf(other) === 0) continue;
      this.refused.delete(other);
      retry();
    }
  }

  private take(endpoint: string, max: number): number {
    const count = Math.min(max, this.shareOf(endpoint));
    if (count === 0) return 0;
    this.free -= count;
    this.taken.set(endpoint, (this.taken.get(endpoint) ?? 0) + count);
    return count;
  }

  /** Returns how many further slots a webhook may take. */
  private shareOf(endpoint: string): number {
    const own = this.taken.get(endpoint) ?? 0;
    const half = (this.free - own) / 2;
    return Math.max(own === 0 ? Math.ceil(half) : Math.floor(half), 0);
  }
}
