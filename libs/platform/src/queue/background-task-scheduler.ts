import type { Agenda, AgendaTask } from './agenda.js';
import type { Logger } from '../log/logger.js';

type WaitingTask = AgendaTask & { time: number | { atMs: number } };

/** Time after which a failed write to the agenda is retried, in milliseconds. */
const RETRY_AFTER_MS = 500;
/**
 * Maximum number of tasks that wait to be written to the agenda (the due times in Redis). Further tasks are dropped.
 * A worker finds the dropped tasks at its next regular check of the account's data.
 */
const MAX_WAITING = 20_000;
/** Maximum delay of the write of a task to the agenda, as a fraction of the time until the task is due. */
const MAX_WRITE_DELAY_FRACTION = 1 / 20;
/** Maximum delay of the write of any task to the agenda, in milliseconds. */
const MAX_WRITE_DELAY_MS = 25;

/**
 * Writes tasks to an agenda (the due times in Redis) in the background, so that callers need not wait. Tasks that
 * follow one another within milliseconds may be written together. While Redis is unreachable, failed writes are
 * retried. If the process ends before a retry succeeds, the due times are lost. A worker then finds the work later,
 * because workers check every account regularly.
 */
export class BackgroundTaskScheduler {
  private readonly waiting = new Map<string, WaitingTask>();
  private isWriting = false;
  private failed = false;
  /** When the last write to the agenda ended, by `performance.now()`. */
  private writtenAt = -Infinity;
  /**
   * Minimum time between the last write to the agenda and the next one, in milliseconds. It is shorter than usual if
   * a waiting task must be written sooner, and is reset by the write.
   */
  private gapMs = MAX_WRITE_DELAY_MS;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly agenda: Pick<Agenda, 'schedule'>,
    private readonly logger: Logger,
  ) {}

  /**
   * Makes the account's task due at `time`, unless the task already has an earlier due time.
   * @param time milliseconds from now, or `atMs`: milliseconds since 1970 by Redis' clock
   */
  announce(account: string, round: string, time: number | { atMs: number }): void {
    const gapMs = this.gapMs;
    this.keep({ account, round, time });
    if (this.isWriting || this.failed || (this.timer !== undefined && this.gapMs >= gapMs)) return;
    this.writeAfterGap();
  }

  /** Writes the waiting tasks as soon as {@link gapMs} milliseconds have passed since the last write. */
  private writeAfterGap(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const inMs = this.writtenAt + this.gapMs - performance.now();
    if (inMs <= 0) void this.write();
    else this.writeIn(inMs);
  }

  private writeIn(ms: number): void {
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.write();
    }, ms);
    // The timer must not keep the process alive.
    this.timer.unref();
  }

  private keep(task: WaitingTask): void {
    const key = `${task.round} ${task.account} ${typeof task.time}`;
    const earlier = this.waiting.get(key);
    if (earlier !== undefined && msOf(earlier.time) <= msOf(task.time)) return;
    if (earlier === undefined && this.waiting.size >= MAX_WAITING) return;
    this.waiting.set(key, task);
    this.gapMs = Math.min(this.gapMs, maxWriteDelayMs(task.time));
  }

  private async write(): Promise<void> {
    const tasks = [...this.waiting.values()];
    this.waiting.clear();
    this.gapMs = MAX_WRITE_DELAY_MS;
    this.isWriting = true;
    try {
      await this.agenda.schedule(tasks);
      this.failed = false;
    } catch (error) {
      // If several writes in a row fail, only the first failure is logged.
      if (!this.failed)
        this.logger.warn({ err: error }, 'could not store the due times of tasks in Redis; retrying');
      this.failed = true;
      for (const task of tasks) this.keep(task);
    }
    this.writtenAt = performance.now();
    this.isWriting = false;
    if (this.failed) this.writeIn(RETRY_AFTER_MS);
    else if (this.waiting.size > 0) this.writeAfterGap();
  }
}

/**
 * Returns how long the write of a task to the agenda may be delayed, in milliseconds; 0 for an exact time.
 * @param time the delay until the task is due, in milliseconds, or the exact time at which it is due
 */
function maxWriteDelayMs(time: number | { atMs: number }): number {
  return typeof time === 'number' ? Math.min(time * MAX_WRITE_DELAY_FRACTION, MAX_WRITE_DELAY_MS) : 0;
}

function msOf(time: number | { atMs: number }): number {
  return typeof time === 'number' ? time : time.atMs;
}
