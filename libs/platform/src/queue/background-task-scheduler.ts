import type { Agenda, AgendaTask } from './agenda.js';
import type { Logger } from '../log/logger.js';

type PendingHint = AgendaTask & { time: number | { atMs: number } };

/** Time after which a failed write to the agenda is retried, in milliseconds. */
const RETRY_AFTER_MS = 500;
/**
 * Maximum number of tasks that wait to be written. Further tasks are dropped. A worker finds them at its next
 * regular check of the account.
 */
const MAX_WAITING = 20_000;

/**
 * Schedules tasks on an agenda in the background, so that callers need not wait. Due times that arrive during
 * a write go together into the next write. While Redis is away, failed writes are retried. If the
 * process ends first, the times are lost. A worker then finds the work later, because it checks every account
 * regularly.
 */
export class BackgroundTaskScheduler {
  private readonly waiting = new Map<string, PendingHint>();
  private isFlushing = false;
  private failed = false;

  constructor(
    private readonly agenda: Pick<Agenda, 'schedule'>,
    private readonly logger: Logger,
  ) {}

  /**
   * Makes the account's task due at `time`, unless the task is due earlier.
   * @param time milliseconds from now, or `atMs`: milliseconds since 1970 by Redis' clock
   */
  announce(account: string, round: string, time: number | { atMs: number }): void {
    this.keep({ account, round, time });
    if (this.isFlushing) return;
    this.isFlushing = true;
    void this.flush();
  }

  private keep(task: PendingHint): void {
    const key = `${task.round} ${task.account} ${typeof task.time}`;
    const earlier = this.waiting.get(key);
    if (earlier !== undefined && msOf(earlier.time) <= msOf(task.time)) return;
    if (earlier === undefined && this.waiting.size >= MAX_WAITING) return;
    this.waiting.set(key, task);
  }

  private async flush(): Promise<void> {
    while (this.waiting.size > 0) {
      const tasks = [...this.waiting.values()];
      this.waiting.clear();
      try {
        await this.agenda.schedule(tasks);
        this.failed = false;
      } catch (error) {
        // While Redis is away, only the first failure is logged.
        if (!this.failed)
          this.logger.warn({ err: error }, 'could not store the due times of tasks in Redis; retrying');
        this.failed = true;
        for (const task of tasks) this.keep(task);
        // The timer must not keep the process alive.
        setTimeout(() => void this.flush(), RETRY_AFTER_MS).unref();
        return;
      }
    }
    this.isFlushing = false;
  }
}

function msOf(time: number | { atMs: number }): number {
  return typeof time === 'number' ? time : time.atMs;
}
