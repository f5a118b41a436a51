/** Longest delay that a JavaScript timer supports, in milliseconds. A timer with a longer delay ends after 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * An AbortSignal that aborts after a time limit, or as soon as another signal aborts. Unlike `AbortSignal.any`, it keeps
 * nothing in memory for as long as the other signal lives (nodejs/node#55351). Unlike `AbortSignal.timeout` inside
 * `AbortSignal.any`, its timer is not lost to the garbage collector (nodejs/node#57736).
 */
export class TimeLimit {
  private readonly controller = new AbortController();
  private readonly timer: ReturnType<typeof setTimeout>;

  /**
   * @param ms time limit in milliseconds, at most about 25 days; a longer limit, such as `Infinity`, is shortened to this
   * @param message message of the error with which the signal aborts after the time limit
   * @param other the other signal
   */
  constructor(
    ms: number,
    message: string,
    private readonly other?: AbortSignal,
  ) {
    this.timer = setTimeout(
      () => {
        this.controller.abort(new Error(message));
      },
      Math.min(ms, MAX_TIMER_MS),
    );
    if (other?.aborted === true) this.follow();
    else other?.addEventListener('abort', this.follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Ends the time limit. The signal still aborts when the other signal does. */
  clearTimer(): void {
    clearTimeout(this.timer);
  }

  /** Must be called when the signal is no longer used. */
  release(): void {
    this.clearTimer();
    this.other?.removeEventListener('abort', this.follow);
  }

  private readonly follow = (): void => {
    this.release();
    this.controller.abort(this.other?.reason);
  };
}
