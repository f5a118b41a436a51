/**
 * Runs a task for a name, for example the name of an account. The task never runs twice at the same time for the
 * same name. A call during a run waits for that run to end and then starts a new run. All callers that wait for the
 * same name share the new run.
 */
export class CoalescingTaskRunner {
  private readonly current = new Map<string, Promise<void>>();
  private readonly next = new Map<string, Promise<void>>();

  constructor(private readonly task: (name: string) => Promise<void>) {}

  /**
   * Runs the task for a name. If the task is already running for this name, waits until that run ends, and
   * then shares one new run with all other waiting callers.
   * @throws the error of the task
   */
  async run(name: string): Promise<void> {
    // A requested run may not have begun yet, although the current run has ended.
    const requested = this.next.get(name);
    if (requested !== undefined) return requested;
    const current = this.current.get(name);
    if (current === undefined) return this.begin(name);
    const next = this.after(current, name);
    this.next.set(name, next);
    return next;
  }

  private async after(current: Promise<void>, name: string): Promise<void> {
    // Only the callers of the current run get its error, not the callers that wait for the next run.
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
