/** Longest delay that a JavaScript timer supports, in milliseconds. A timer with a longer delay fires after 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * A time limit whose {@link signal} aborts after the limit, or as soon as another signal aborts. Unlike
 * `AbortSignal.any`, a released time limit keeps nothing in memory while the other signal lives (nodejs/node#55351).
 * Unlike `AbortSignal.timeout` inside `AbortSignal.any`, its timer is not lost to the garbage collector
 * (nodejs/node#57736).
 */
export class TimeLimit {
  private readonly controller = new AbortController();
  private readonly timer: ReturnType<typeof setTimeout>;

  /**
   * @param ms time limit in milliseconds; a limit of more than about 25 days, such as `Infinity`, is reduced to that
   * @param message message of the error with which the signal aborts after the time limit
   * @param other another signal; as soon as it aborts, {@link signal} aborts with the same reason
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

  /** Cancels the time limit. {@link signal} still aborts when the other signal does. */
  clearTimer(): void {
    clearTimeout(this.timer);
  }

  /** Stops the timer and no longer follows the other signal. Must be called when {@link signal} is no longer used. */
  release(): void {
    this.clearTimer();
    this.other?.removeEventListener('abort', this.follow);
  }

  private readonly follow = (): void => {
    this.release();
    this.controller.abort(this.other?.reason);
  };
}
