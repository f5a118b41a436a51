import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { type Agenda, type AgendaTime, type Logger, pause, type ClaimedTask } from '#platform';
import { type PeriodicRelayTasks, SCHEDULED_SENDS_CHECK_INTERVAL_MS } from '#relay';
import { SideBySide } from '../side-by-side.js';

/**
 * Minimum sleep between two reads of the agenda, in milliseconds. A task that is still due may belong to
 * another worker, so that an immediate read would find nothing.
 */
const MIN_SLEEP_MS = 10;
/** Maximum number of accounts taken from the agenda at once. */
const MAX_TAKEN = 64;
/** Lease of a task. Another worker takes over the task when the lease of a dead worker expires. */
const LEASE_MS = 2_000;
const RETRY_DELAY_MS = 1_000;

/**
 * Moves scheduled sends into their lanes when they are due. Each worker sleeps until the earliest due time
 * over all accounts. An account's sends are normally moved well within one lease. If a lease expires earlier,
 * two workers move the same sends, which is harmless.
 */
export class SendSchedule implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly runner = new SideBySide();
  private stopping = false;
  private sleep = new AbortController();
  private loop: Promise<void> = Promise.resolve();
  private failed = false;

  /**
   * @param maxSleepMs maximum delay of a send that was scheduled during the sleep without a call of {@link
   * look}, in ms
   */
  constructor(
    private readonly rounds: Pick<PeriodicRelayTasks, 'promote'>,
    private readonly agenda: Pick<Agenda, 'claimDue' | 'complete'>,
    private readonly logger: Logger,
    private readonly maxSleepMs = SCHEDULED_SENDS_CHECK_INTERVAL_MS,
  ) {}

  onApplicationBootstrap(): void {
    this.loop = this.run();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping = true;
    this.look();
    await this.loop;
    await this.runner.ended();
  }

  /** Ends the sleep and reads the agenda now. Called when a send may be due earlier than all others. */
  look(): void {
    this.sleep.abort();
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      // Create the signal before reading: a call of `look` during the read then skips the next sleep.
      this.sleep = new AbortController();
      const sleepMs = Math.min(await this.promoteDue(), this.maxSleepMs);
      await pause(MIN_SLEEP_MS);
      await pause(sleepMs - MIN_SLEEP_MS, this.sleep.signal);
    }
  }

  /** Moves the due sends. Returns the time until the next send is due, in milliseconds. */
  private async promoteDue(): Promise<number> {
    try {
      const { tasks, nextInMs = Infinity } = await this.agenda.claimDue(MAX_TAKEN, LEASE_MS);
      this.failed = false;
      const byKey = new Map(tasks.map((task) => [`${task.account} ${task.claim}`, task]));
      await this.runner.run([...byKey.keys()], async (key) => {
        const task = byKey.get(key);
        if (task !== undefined) await this.promote(task);
      });
      // The moved accounts have new due times: read the agenda again.
      return tasks.length > 0 ? 0 : nextInMs;
    } catch (error) {
      // Log an outage once.
      if (!this.failed)
        this.logger.warn(
          { err: error },
          'could not read from Redis when the next scheduled send is due; retrying',
        );
      this.failed = true;
      return Infinity;
    }
  }

  private async promote(task: ClaimedTask): Promise<void> {
    const { account } = task;
    let next: AgendaTime | undefined;
    try {
      next = await this.rounds.promote(account);
    } catch (error) {
      this.logger.warn({ account, err: error }, 'could not queue scheduled sends that are due; retrying');
      next = RETRY_DELAY_MS;
    }
    try {
      await this.agenda.complete(task, next);
    } catch (error) {
      this.logger.debug(
        { account, err: error },
        'could not store when the next scheduled send of an account is due; the account is checked again when its lease expires',
      );
    }
  }
}
