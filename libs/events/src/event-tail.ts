/**
 * Notifies waiting readers that an account's log may have grown. A notification carries no events. Notifications are
 * lost while Redis is unreachable, so readers also poll the log at intervals.
 */
export interface EventTail {
  /**
   * Starts to follow an account's log. The caller must read the log once before the first {@link LogFollower.waitForGrowth},
   * because earlier growth is not notified.
   */
  follow(account: string): LogFollower;

  /** Closes the connection. Followers receive no further notifications. */
  close(): Promise<void>;
}

/** Lets one reader wait until an account's log grows. */
export class LogFollower {
  /** Ends the wait under way, if any. */
  private endWait: (() => void) | undefined;

  /**
   * @param hasMissedNothing true if no growth can have been missed so far
   * @param unfollow callback that {@link LogFollower.stop} calls
   */
  constructor(
    private hasMissedNothing: boolean,
    private readonly unfollow: (follower: LogFollower) => void,
  ) {}

  /** Resolves when the log may have grown since the last call, after `ms` milliseconds, or when the signal aborts. */
  async waitForGrowth(ms: number, signal: AbortSignal): Promise<void> {
    if (this.hasMissedNothing && !signal.aborted) await this.waitForWake(ms, signal);
    this.hasMissedNothing = true;
  }

  /** Ends the present wait, or the next one if none is under way. */
  wake(): void {
    this.hasMissedNothing = false;
    this.endWait?.();
  }

  /** Stops following. Must be called exactly once. */
  stop(): void {
    this.unfollow(this);
  }

  private waitForWake(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.endWait = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done, { once: true });
      this.endWait = done;
    });
  }
}
