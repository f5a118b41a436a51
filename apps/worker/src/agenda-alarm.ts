import { type AgendaWakeUps, pause } from '#platform';

/**
 * Maximum wait while wake-ups arrive, in milliseconds. If a wake-up is lost, its task is delayed by at most this
 * time.
 */
const MAX_WAIT_MS = 5_000;
/**
 * Minimum wait between two reads of the agenda, in milliseconds. A task that is still due may belong to another
 * worker, so that an immediate read would find nothing.
 */
const MIN_WAIT_MS = 10;

/** Maximum times for which a worker waits before it reads the agenda again, in milliseconds. */
export interface AlarmLimits {
  /** While wake-ups do not arrive: the worker is then not notified of tasks that other processes make due. */
  withoutWakeUpsMs: number;
  /** While wake-ups arrive. Default: {@link MAX_WAIT_MS}. */
  withWakeUpsMs?: number;
}

/**
 * Lets a worker sleep until a task of an agenda is due: the next task that the worker knows of, or an earlier task
 * that another process schedules.
 */
export class AgendaAlarm {
  private readonly stopping = new AbortController();
  private changed = new AbortController();
  /** When the alarm goes off, by `performance.now()`. */
  private at = Infinity;

  constructor(
    private readonly limits: AlarmLimits,
    private readonly wakeUps: AgendaWakeUps,
  ) {}

  /** Listens to wake-ups from now on. */
  start(): void {
    this.wakeUps.listen((inMs) => {
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
    const { withoutWakeUpsMs, withWakeUpsMs = MAX_WAIT_MS } = this.limits;
    return this.wakeUps.isReceiving() ? withWakeUpsMs : withoutWakeUpsMs;
  }
}
