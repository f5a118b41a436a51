import { setMaxListeners } from 'node:events';
import { pause } from '#platform';

/** Limits the concurrent attempts of one process. Each attempt occupies one slot. */
export class AttemptSlots {
  private free: number;
  /** Aborted when a slot becomes free after none was. */
  private slotReleased = newSignal();

  /** @param total number of slots */
  constructor(total: number) {
    this.free = total;
  }

  /**
   * Takes up to `max` slots and returns how many were taken. Waits up to `patienceMs` milliseconds if no slot is free,
   * then returns 0 if there is still none. Takes at most half of the free slots, rounded up, so that one busy webhook
   * leaves slots for the others.
   */
  async acquire(max: number, patienceMs: number): Promise<number> {
    if (this.free === 0) await pause(patienceMs, this.slotReleased.signal);
    const taken = Math.min(max, Math.ceil(this.free / 2));
    this.free -= taken;
    return taken;
  }

  /** Frees a number of taken slots and wakes the waiting callers. */
  release(count: number): void {
    if (count === 0) return;
    const allWereTaken = this.free === 0;
    this.free += count;
    if (!allWereTaken) return;
    this.slotReleased.abort();
    this.slotReleased = newSignal();
  }
}

/** Returns a controller without a limit on listeners. The worker's job concurrency bounds the waiting callers. */
function newSignal(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
