import { setMaxListeners } from 'node:events';
import { pause } from '#platform';

/** How many attempts one process has under way: a number of places that are taken and given back. */
export class AttemptPlaces {
  private free: number;
  private waiting = newSignal();

  constructor(places: number) {
    this.free = places;
  }

  /**
   * Takes up to `most` places and says how many; waits up to `patienceMs` if all are taken, and answers 0 if they stay
   * so. Nobody gets more than half of what is free, so that one busy endpoint leaves places to the others.
   */
  async take(most: number, patienceMs: number): Promise<number> {
    if (this.free === 0) await pause(patienceMs, this.waiting.signal);
    const taken = Math.min(most, Math.ceil(this.free / 2));
    this.free -= taken;
    return taken;
  }

  giveBack(places: number): void {
    if (places === 0) return;
    const nobodyHadOne = this.free === 0;
    this.free += places;
    if (!nobodyHadOne) return;
    this.waiting.abort();
    this.waiting = newSignal();
  }
}

/** For any number of waiting looks; each is one of the worker's jobs, whose number is bounded there. */
function newSignal(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
