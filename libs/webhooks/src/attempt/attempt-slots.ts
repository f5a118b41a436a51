/** A webhook that has no slot and waits for one. */
interface Waiter {
  endpoint: string;
  max: number;
  /** Called with the number of slots that the webhook gets. */
  resolve: (count: number) => void;
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
  private isClosed = false;

  /** @param total number of slots */
  constructor(total: number) {
    this.free = total;
  }

  /**
   * Takes up to `max` free slots for a webhook. If no slot is free, a webhook that has no slot waits for its turn:
   * webhooks get slots in the order in which they began to wait.
   * @returns the number of slots that this call took; 0 if the webhook may not have more slots than it already has,
   * or if no slot is free and {@link close} was called
   */
  acquire(endpoint: string, max: number): Promise<number> {
    // A webhook that already has a slot does not wait here: when one of its attempts ends, the caller asks again.
    if (this.free > 0 || this.taken.has(endpoint) || this.isClosed)
      return Promise.resolve(this.take(endpoint, max));
    return new Promise((resolve) => this.waiting.add({ endpoint, max, resolve }));
  }

  /** True if a webhook would get a slot now. */
  hasSlotFor(endpoint: string): boolean {
    return this.shareOf(endpoint) > 0;
  }

  /** True if a webhook has a slot. */
  isUsedBy(endpoint: string): boolean {
    return this.taken.has(endpoint);
  }

  /** True if no slot is free. */
  get isFull(): boolean {
    return this.free === 0;
  }

  /** Frees `count` taken slots of a webhook. Webhooks that wait for slots get their share of the free slots at once. */
  release(endpoint: string, count: number): void {
    if (count === 0) return;
    const left = (this.taken.get(endpoint) ?? 0) - count;
    if (left > 0) this.taken.set(endpoint, left);
    else this.taken.delete(endpoint);
    this.free += count;
    for (const waiter of this.waiting) {
      if (this.free === 0) return;
      this.waiting.delete(waiter);
      // Each waiting webhook gets an equal part of the free slots. One further part stays free for a webhook that
      // asks later.
      const part = Math.ceil(this.free / (this.waiting.size + 2));
      waiter.resolve(this.take(waiter.endpoint, Math.min(waiter.max, part)));
    }
  }

  /** Resolves all waiting calls of {@link acquire} to 0. From now on, no call of {@link acquire} waits. */
  close(): void {
    this.isClosed = true;
    for (const { resolve } of this.waiting) resolve(0);
    this.waiting.clear();
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
