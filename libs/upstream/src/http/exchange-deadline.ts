/**
 * The deadline of one exchange with upstream, body included. It counts the time that upstream takes: while this process
 * works on what came, or waits for room, the clock stands.
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

  /** Aborted when the time is over. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get isOver(): boolean {
    return this.controller.signal.aborted;
  }

  /** Also when the exchange is over. */
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
