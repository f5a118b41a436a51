/**
 * Tells those who wait that an account's log may have grown, so that they read it. It carries no events and may miss a
 * growth (a Redis that was away): whoever waits also looks by itself from time to time.
 */
export interface EventTail {
  /** Follows an account's log from now on. What grew before that, the caller has read by its first {@link LogFollower.grown}. */
  follow(account: string): LogFollower;

  /** Ends it for everyone. */
  close(): Promise<void>;
}

/** One who waits for an account's log to grow. */
export class LogFollower {
  private ring: (() => void) | undefined;

  /**
   * @param fresh whether nothing can have been missed yet
   * @param leave is called when it stops
   */
  constructor(
    private fresh: boolean,
    private readonly leave: (follower: LogFollower) => void,
  ) {}

  /** Resolves when the log may have grown since the last call, after `ms` milliseconds, or when the signal aborts. */
  async grown(ms: number, signal: AbortSignal): Promise<void> {
    if (this.fresh && !signal.aborted) await this.rung(ms, signal);
    this.fresh = true;
  }

  wake(): void {
    this.fresh = false;
    this.ring?.();
  }

  /** Follows no more; to be called once. */
  stop(): void {
    this.leave(this);
  }

  private rung(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.ring = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done, { once: true });
      this.ring = done;
    });
  }
}
