/**
 * Deadline of one exchange with upstream: a request and its whole reply. The deadline counts only the time that
 * upstream takes. It is paused while this process handles bytes or waits for a slot for a large reply.
 */
export class ExchangeDeadline {
  private readonly controller = new AbortController();
  private leftMs: number;
  private runningSince: number | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(readonly ms: number) {
    this.leftMs = ms;
    this.resume();
  }

  /** Signal that aborts when the deadline is over. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get isOver(): boolean {
    return this.controller.signal.aborted;
  }

  /** Pauses the deadline. Call this method also at the end of the exchange. */
  pause(): void {
    if (this.runningSince === undefined) return;
    this.leftMs -= performance.now() - this.runningSince;
    this.runningSince = undefined;
    clearTimeout(this.timer);
  }

  resume(): void {
    if (this.runningSince !== undefined || this.isOver) return;
    this.runningSince = performance.now();
    this.timer = setTimeout(() => {
      this.controller.abort();
    }, this.leftMs);
  }
}
