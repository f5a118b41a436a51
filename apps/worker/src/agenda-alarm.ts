import { type AgendaWakeUps, pause } from '#platform';

/** Maximum wait while wake-ups arrive, in milliseconds: what a lost wake-up costs. */
const MAX_WAIT_MS = 5_000;
/**
 * Minimum wait between two reads of the agenda, in milliseconds. A task that is still due may belong to another
 * worker, so that an immediate read would find nothing.
 */
const MIN_WAIT_MS = 10;

/** How long a worker waits for the next task of an agenda at most, in milliseconds. */
export interface AlarmLimits {
  /** While wake-ups do not arrive: another process may have made a task due. */
  untrustedMs: number;
  /** While wake-ups arrive. */
  trustedMs?: number;
}

/**
 * Lets a worker sleep until a task of an agenda is due: the next one of which it knows, or one that another process
 * schedules earlier.
 */
export class AgendaAlarm {
  private readonly stopping = new AbortController();
  private changed = new AbortController();
  /** When the alarm goes off, by `performance.now()`. */
  private at = Infinity;

  constructor(
    private readonly limits: AlarmLimits,
    private readonly wakeUps?: AgendaWakeUps,
  ) {}

  /** Listens to wake-ups from now on. */
  start(): void {
    this.wakeUps?.listen((inMs) => {
      this.within(inMs);
    });
  }

  /** Ends the wait, and all later ones. */
  stop(): void {
    this.stopping.abort();
    this.changed.abort();
  }

  /** Turns the alarm off. Called before the agenda is read, so that a wake-up during the read counts. */
  reset(): void {
    this.at = Infinity;
  }

  /** Lets the alarm go off in this time or earlier. */
  within(ms: number): void {
    const at = performance.now() + Math.max(ms, MIN_WAIT_MS);
    if (at >= this.at) return;
    this.at = at;
    this.changed.abort();
  }

  /** Waits until the alarm goes off. */
  async wait(): Promise<void> {
    this.within(this.maxWaitMs());
    for (;;) {
      this.changed = new AbortController();
      const leftMs = this.at - performance.now();
      if (leftMs <= 0 || this.stopping.signal.aborted) return;
      await pause(leftMs, this.changed.signal);
    }
  }

  private maxWaitMs(): number {
    const { untrustedMs, trustedMs = MAX_WAIT_MS } = this.limits;
    return this.wakeUps?.isTrusted() === true ? trustedMs : untrustedMs;
  }
}
