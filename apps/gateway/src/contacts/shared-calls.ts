/** Lets callers who ask for the same thing at the same moment share one answer. Nothing is kept once it is there. */
export class SharedCalls<T> {
  private readonly running = new Map<string, Promise<T>>();

  /** The result of the call that runs under this key, or of a new one. */
  async share(key: string, call: () => Promise<T>): Promise<T> {
    const found = this.running.get(key);
    if (found !== undefined) return await found;
    const started = call();
    this.running.set(key, started);
    try {
      return await started;
    } finally {
      this.running.delete(key);
    }
  }
}
