/**
 * Time limit that begins at its creation, measured by two clocks. The steady clock stands still while the machine is
 * suspended. The wall clock does not, but it may be set. The clock that has advanced further counts.
 */
export class TimeLimit {
  private readonly steady = performance.now();
  private readonly wall = Date.now();

  /** @param ms length of the limit, in milliseconds */
  constructor(private readonly ms: number) {}

  isOver(): boolean {
    return Math.max(performance.now() - this.steady, Date.now() - this.wall) > this.ms;
  }
}
