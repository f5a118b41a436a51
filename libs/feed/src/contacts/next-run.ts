/** Runs of one task by name: whoever asks gets one that begins after that, and all who wait for the same one share it. */
export class NextRun {
  private readonly current = new Map<string, Promise<void>>();
  private readonly next = new Map<string, Promise<void>>();

  constructor(private readonly task: (name: string) => Promise<void>) {}

  /** @throws what the run throws */
  async run(name: string): Promise<void> {
    const current = this.current.get(name);
    if (current === undefined) return this.begin(name);
    let next = this.next.get(name);
    if (next === undefined) {
      next = this.after(current, name);
      this.next.set(name, next);
    }
    return next;
  }

  private async after(current: Promise<void>, name: string): Promise<void> {
    // Those who share it hear of its failure.
    await current.catch(() => undefined);
    this.next.delete(name);
    return this.begin(name);
  }

  private begin(name: string): Promise<void> {
    const run = this.task(name).finally(() => {
      if (this.current.get(name) === run) this.current.delete(name);
    });
    this.current.set(name, run);
    return run;
  }
}
