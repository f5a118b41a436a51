/** Runs work of the same line one at a time, in the order of arrival. */
export class WaitingLines {
  private readonly ends = new Map<string, Promise<void>>();

  /**
   * Runs `work` after all earlier work of the line has ended, or at once if the signal aborts. `work` must check the
   * signal.
   */
  async inTurn<T>(line: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.ends.get(line) ?? Promise.resolve();
    let leave = (): void => undefined;
    const mine = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const end = before.then(() => mine);
    this.ends.set(line, end);
    try {
      await firstOf(before, signal);
      return await work();
    } finally {
      leave();
      if (this.ends.get(line) === end) this.ends.delete(line);
    }
  }
}

function firstOf(before: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      signal.removeEventListener('abort', go);
      resolve();
    };
    signal.addEventListener('abort', go);
    if (signal.aborted) go();
    void before.then(go);
  });
}
