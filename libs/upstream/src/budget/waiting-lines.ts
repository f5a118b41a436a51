/** Lets those who wait for the same thing go one at a time, in the order in which they came. */
export class WaitingLines {
  private readonly ends = new Map<string, Promise<void>>();

  /**
   * Runs `work` when all who came before have had their turn, or at once when the signal aborts: then it is for `work` to
   * notice.
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
