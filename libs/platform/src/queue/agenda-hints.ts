import type { Agenda, AgendaTask } from './agenda.js';
import type { Logger } from '../log/logger.js';

type Hinted = AgendaTask & { time: number | { atMs: number } };

/** What could not be told is told again after so long, in milliseconds. */
const AGAIN_MS = 500;
/** So much waits at most; surveys find what does not. */
const MAX_WAITING = 20_000;

/**
 * Tells an agenda what is due, without keeping anybody waiting. What is told while a call is under way goes with the next
 * one, so that much that is told at once is few calls. What could not be told, since Redis was away, is told again until it
 * is; hints that die with the process cost time only: surveys find what is due.
 */
export class AgendaHints {
  private readonly waiting = new Map<string, Hinted>();
  private underWay = false;
  private failed = false;

  constructor(
    private readonly agenda: Pick<Agenda, 'at'>,
    private readonly logger: Logger,
  ) {}

  /**
   * The account's task is due at this time at the latest: in so many milliseconds, or at so many since 1970 by Redis'
   * clock.
   */
  tell(account: string, round: string, time: number | { atMs: number }): void {
    this.keep({ account, round, time });
    if (this.underWay) return;
    this.underWay = true;
    void this.flush();
  }

  private keep(task: Hinted): void {
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
        await this.agenda.at(tasks);
        this.failed = false;
      } catch (error) {
        // Once an outage.
        if (!this.failed)
          this.logger.warn({ err: error }, 'could not write due times to Redis; the write is retried');
        this.failed = true;
        for (const task of tasks) this.keep(task);
        // A process that ends does not wait for it.
        setTimeout(() => void this.flush(), AGAIN_MS).unref();
        return;
      }
    }
    this.underWay = false;
  }
}

function msOf(time: number | { atMs: number }): number {
  return typeof time === 'number' ? time : time.atMs;
}
