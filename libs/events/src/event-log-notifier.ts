/**
 * Notifies readers when an account's event log may have new events. A notification does not contain the
 * events. While Redis is unreachable, notifications are lost, so readers also poll the log at intervals.
 */
export interface EventLogNotifier {
  /**
   * Starts to follow an account's event log. The caller must read the log once before it first calls
   * {@link EventLogFollower.waitForGrowth}, because the follower is not notified of earlier events.
   */
  follow(account: string): EventLogFollower;

  /** Ends all notifications and closes the connection to Redis. */
  close(): Promise<void>;
}

/** Lets one reader wait until an account's event log has new events. */
export class EventLogFollower {
  /** Ends the current wait of {@link waitForGrowth}. Undefined if no wait is in progress. */
  private endWait: (() => void) | undefined;

  /**
   * @param hasMissedNothing false if the log may have grown without a notification: the first wait then ends at once
   * @param unfollow callback that {@link EventLogFollower.stop} calls
   */
  constructor(
    private hasMissedNothing: boolean,
    private readonly unfollow: (follower: EventLogFollower) => void,
  ) {}

  /**
   * Resolves when the log may have grown since the last call of this method, but at the latest after `ms`
   * milliseconds or when the signal aborts.
   */
  async waitForGrowth(ms: number, signal: AbortSignal): Promise<void> {
    if (this.hasMissedNothing && !signal.aborted) await this.waitForWake(ms, signal);
    this.hasMissedNothing = true;
  }

  /** Ends the current {@link waitForGrowth}. If no wait is in progress, the next one ends at once. */
  wake(): void {
    this.hasMissedNothing = false;
    this.endWait?.();
  }

  /** Stops following the log. Must be called exactly once. */
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
