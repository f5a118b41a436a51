/** Runs work in named queues. Each queue runs one piece of work at a time, in the order of arrival. */
export class SerialQueues {
  private readonly ends = new Map<string, Promise<void>>();

  /**
   * Runs `work` after all earlier work of the same queue has ended. If the signal aborts, `work` runs at
   * once, so `work` must check the signal.
   */
  async run<T>(queue: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.ends.get(queue) ?? Promise.resolve();
    let leave = (): void => undefined;
    const mine = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const end = before.then(() => mine);
    this.ends.set(queue, end);
    try {
      await firstOf(before, signal);
      return await work();
    } finally {
      leave();
      if (this.ends.get(queue) === end) this.ends.delete(queue);
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
