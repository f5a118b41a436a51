import { TooManyLargeRepliesError } from '../upstream-error.js';

/** A reader of a large reply that waits for a slot. */
interface Waiting {
  owner: string;
  enter: () => void;
}

/**
 * Limits how many large replies this process reads at once, over all accounts. The owner of a slot is an
 * upstream address. One owner gets at most half of the slots, so that a slow upstream does not block others.
 */
export class LargeReplySlots {
  private readonly held = new Map<string, number>();
  private count = 0;
  private readonly waiting = new Set<Waiting>();

  constructor(private readonly max: number) {}

  /**
   * Waits for a slot. Resolves to the function that releases the slot.
   * @param owner upstream address that the large reply comes from
   * @param patienceMs maximum wait, in milliseconds
   * @throws {TooManyLargeRepliesError} if the owner gets no slot within `patienceMs`
   */
  async acquire(owner: string, patienceMs: number): Promise<() => void> {
    if (!this.hasFreeSlot(owner)) await this.wait(owner, patienceMs);
    else this.take(owner);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.release(owner);
    };
  }

  private wait(owner: string, patienceMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const one: Waiting = {
        owner,
        enter: () => {
          clearTimeout(timer);
          this.waiting.delete(one);
          this.take(owner);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.waiting.delete(one);
        reject(new TooManyLargeRepliesError());
      }, patienceMs);
      this.waiting.add(one);
    });
  }

  private hasFreeSlot(owner: string): boolean {
    return this.count < this.max && (this.held.get(owner) ?? 0) < this.max / 2;
  }

  private take(owner: string): void {
    this.count += 1;
    this.held.set(owner, (this.held.get(owner) ?? 0) + 1);
  }

  private release(owner: string): void {
    this.count -= 1;
    const left = (this.held.get(owner) ?? 0) - 1;
    if (left > 0) this.held.set(owner, left);
    else this.held.delete(owner);
    // The reader that has waited longest gets the free slot. Skip readers whose owner may not have another slot.
    for (const one of this.waiting) {
      if (this.hasFreeSlot(one.owner)) one.enter();
    }
  }
}
