import { setMaxListeners } from 'node:events';
import { pause } from '#platform';

/** Limits how many delivery attempts one process makes at the same time. Each attempt occupies one slot. */
export class AttemptSlots {
  private free: number;
  /** Aborting this signal wakes all callers of {@link acquire} that wait for a free slot. */
  private slotReleased = newSignal();

  /** @param total number of slots */
  constructor(total: number) {
    this.free = total;
  }

  /**
   * Takes up to `max` free slots and returns how many were taken. If no slot is free, waits up to `patienceMs`
   * milliseconds, and returns 0 if still no slot is free. Takes at most half of the free slots, rounded up, so that one
   * busy webhook leaves slots for other webhooks.
   */
  async acquire(max: number, patienceMs: number): Promise<number> {
    if (this.free === 0) await pause(patienceMs, this.slotReleased.signal);
    const taken = Math.min(max, Math.ceil(this.free / 2));
    this.free -= taken;
    return taken;
  }

  /** True if no slot is free. */
  get isFull(): boolean {
    return this.free === 0;
  }

  /** Frees `count` taken slots and wakes the waiting callers. */
  release(count: number): void {
    if (count === 0) return;
    const allWereTaken = this.free === 0;
    this.free += count;
    if (!allWereTaken) return;
    this.slotReleased.abort();
    this.slotReleased = newSignal();
  }
}

/** Returns an abort controller without Node's limit on listeners, because many callers may wait for a slot. */
function newSignal(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
