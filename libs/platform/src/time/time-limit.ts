/**
 * A time limit that begins when the object is created. Two clocks measure the time, and the larger result
 * counts. The steady clock stands still while the machine is suspended. The wall clock runs on, but it can be
 * set back.
 */
export class TimeLimit {
  private readonly steady = performance.now();
  private readonly wall = Date.now();

  /** @param ms duration of the time limit, in milliseconds */
  constructor(private readonly ms: number) {}

  isOver(): boolean {
    return Math.max(performance.now() - this.steady, Date.now() - this.wall) > this.ms;
  }
}
