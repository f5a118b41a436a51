/** The time of the simulated world, in ms since 1970: the real one, or one that only `moveTo` moves. */
export class Clock {
  #stands: number | null = null;

  get manual(): boolean {
    return this.#stands !== null;
  }

  now(): number {
    return this.#stands ?? Date.now();
  }

  /** Stops the clock, at a given moment or where it is. */
  stop(at: number = this.now()): void {
    this.#stands = at;
  }

  /** Goes back to real time. */
  run(): void {
    this.#stands = null;
  }

  /** Moves a stopped clock forward; it never goes back, and a running one is not moved. */
  moveTo(time: number): void {
    if (this.#stands !== null) this.#stands = Math.max(this.#stands, time);
  }
}
