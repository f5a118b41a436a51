/**
 * Clock of the simulated world, in ms since 1970. Runs in real time, or is stopped and moves only with
 * `moveTo`.
 */
export class Clock {
  #stoppedAt: number | null = null;

  get manual(): boolean {
    return this.#stoppedAt !== null;
  }

  now(): number {
    return this.#stoppedAt ?? Date.now();
  }

  /** Stops the clock at the given or the current time. */
  stop(at: number = this.now()): void {
    this.#stoppedAt = at;
  }

  /** Returns to real time. */
  run(): void {
    this.#stoppedAt = null;
  }

  /** Moves a stopped clock forward, never back. Does nothing if the clock runs. */
  moveTo(time: number): void {
    if (this.#stoppedAt !== null) this.#stoppedAt = Math.max(this.#stoppedAt, time);
  }
}
