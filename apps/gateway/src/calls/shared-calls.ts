/** Shares one running call among all callers with the same key. Results are not cached after the call ends. */
export class SharedCalls<T> {
  private readonly running = new Map<string, Promise<T>>();

  /** Returns true if a call with this key is running. */
  isRunning(key: string): boolean {
    return this.running.has(key);
  }

  /** Returns the result of the running call with this key, or else starts a new call. */
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
