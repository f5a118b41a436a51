import type { Agenda, AgendaTask } from './agenda.js';
import type { Logger } from './logger.js';

/**
 * Tells an agenda what is due, without keeping anybody waiting. What is told while a call is under way goes with the next
 * one, so that much that is told at once is few calls. A hint that is lost costs time only: surveys find what is due.
 */
export class AgendaHints {
  private readonly waiting = new Map<string, AgendaTask & { time: number | { atMs: number } }>();
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
    const key = `${round} ${account} ${typeof time}`;
    const earlier = this.waiting.get(key);
    if (earlier === undefined || msOf(time) < msOf(earlier.time)) {
      this.waiting.set(key, { account, round, time });
    }
    if (this.underWay) return;
    this.underWay = true;
    void this.flush();
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
          this.logger.warn({ err: error }, 'the agenda was not told; a survey finds what is due');
        this.failed = true;
      }
    }
    this.underWay = false;
  }
}

function msOf(time: number | { atMs: number }): number {
  return typeof time === 'number' ? time : time.atMs;
}
