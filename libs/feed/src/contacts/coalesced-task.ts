/**
 * Runs a task per name, one run at a time. A caller gets a run that starts after the call; waiting callers
 * share it.
 */
export class CoalescedTask {
  private readonly current = new Map<string, Promise<void>>();
  private readonly next = new Map<string, Promise<void>>();

  constructor(private readonly task: (name: string) => Promise<void>) {}

  /** @throws the error of the run */
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
    // If the current run fails, its own callers get the error.
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
