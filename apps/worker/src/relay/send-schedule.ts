import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { type Agenda, type AgendaTime, type Logger, pause, type TakenTask } from '#platform';
import { type RelayRounds, SCHEDULE_SLEEP_MS } from '#relay';
import { SideBySide } from '../side-by-side.js';

/** Not at once even where something is due still, which is another worker's just now. */
const SHORTEST_SLEEP_MS = 10;
/** Accounts that are taken at once. */
const MAX_TAKEN = 64;
/** What a worker that died had taken is another's after so long. */
const LEASE_MS = 2_000;
const AFTER_FAILURE_MS = 1_000;

/**
 * Moves scheduled sends into their lanes when they are due: in every worker it sleeps until the next time of any account.
 * Moving those of one account takes far less than a lease; if it does not, two do it, which does no harm.
 */
export class SendSchedule implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly places = new SideBySide();
  private stopping = false;
  private sleep = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private failed = false;

  /** @param longestSleepMs so late a send may be that was scheduled for sooner than that, and of which nobody was told */
  constructor(
    private readonly rounds: Pick<RelayRounds, 'promote'>,
    private readonly agenda: Pick<Agenda, 'takeDue' | 'next'>,
    private readonly logger: Logger,
    private readonly longestSleepMs = SCHEDULE_SLEEP_MS,
  ) {}

  onApplicationBootstrap(): void {
    this.running = this.run();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping = true;
    this.look();
    await this.running;
    await this.places.ended();
  }

  /** Looks again now for what is next: something may have been scheduled for sooner than all before. */
  look(): void {
    this.sleep.abort();
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      // What is scheduled while this is under way ends the sleep that has not begun yet.
      this.sleep = new AbortController();
      const sleepMs = Math.min(await this.promoteDue(), this.longestSleepMs);
      await pause(SHORTEST_SLEEP_MS);
      await pause(sleepMs - SHORTEST_SLEEP_MS, this.sleep.signal);
    }
  }

  /** In how many milliseconds the next is due. */
  private async promoteDue(): Promise<number> {
    try {
      const { tasks, nextInMs = Infinity } = await this.agenda.takeDue(MAX_TAKEN, LEASE_MS);
      this.failed = false;
      const byKey = new Map(tasks.map((task) => [`${task.account} ${task.claim}`, task]));
      await this.places.run([...byKey.keys()], async (key) => {
        const task = byKey.get(key);
        if (task !== undefined) await this.promote(task);
      });
      // What was moved has a new time by now.
      return tasks.length > 0 ? 0 : nextInMs;
    } catch (error) {
      // Once an outage.
      if (!this.failed) this.logger.warn({ err: error }, 'the schedule could not be read; trying again');
      this.failed = true;
      return Infinity;
    }
  }

  private async promote(task: TakenTask): Promise<void> {
    const { account } = task;
    let next: AgendaTime | undefined;
    try {
      next = await this.rounds.promote(account);
    } catch (error) {
      this.logger.warn({ account, err: error }, 'scheduled sends could not be moved; trying again');
      next = AFTER_FAILURE_MS;
    }
    try {
      await this.agenda.next(task, next);
    } catch (error) {
      this.logger.debug({ account, err: error }, 'the schedule is looked at again when the lease is over');
    }
  }
}
