/** Lets several tasks run one at a time in a given order, so that a run is reproducible. */
export class Turnstile {
  private readonly waiting = new Map<number, () => void>();
  private readonly going: Set<number>;
  private drawn = 0;

  /** @param turns order of the tasks' turns, repeated from the start */
  constructor(
    tasks: number,
    private readonly turns: readonly number[],
  ) {
    this.going = new Set(Array.from({ length: tasks }, (_, n) => n));
  }

  /** Waits for the task's next turn. The turn ends when the task waits again or is done. */
  async turn(task: number): Promise<void> {
    if (this.waiting.has(task)) throw new Error(`task ${task} waits for two turns at the same time`);
    await new Promise<void>((resolve) => {
      this.waiting.set(task, resolve);
      this.next();
    });
  }

  done(task: number): void {
    this.going.delete(task);
    this.next();
  }

  private next(): void {
    if (this.waiting.size === 0 || this.waiting.size < this.going.size) return;
    const wanted = this.turns[this.drawn++ % Math.max(this.turns.length, 1)] ?? 0;
    const tasks = [...this.waiting.keys()].sort((a, b) => a - b);
    const task = tasks[wanted % tasks.length] ?? 0;
    const go = this.waiting.get(task);
    this.waiting.delete(task);
    go?.();
  }
}
