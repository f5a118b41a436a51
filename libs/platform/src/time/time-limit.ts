/**
 * A span of time from its making on, by two clocks. The steady clock stands still while a virtual machine or a laptop is
 * suspended, and the wall clock, which does not, may be set: whichever went further counts.
 */
export class TimeLimit {
  private readonly steady = performance.now();
  private readonly wall = Date.now();

  /** @param ms how long it is, in milliseconds */
  constructor(private readonly ms: number) {}

  isOver(): boolean {
    return Math.max(performance.now() - this.steady, Date.now() - this.wall) > this.ms;
  }
}
