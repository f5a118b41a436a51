import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { type Agenda, type AgendaTime, type AgendaWakeUps, type Logger, type ClaimedTask } from '#platform';
import { type PeriodicRelayTasks, SCHEDULED_SENDS_CHECK_INTERVAL_MS } from '#relay';
import { AgendaAlarm, type AlarmLimits } from '../agenda-alarm.js';
import { SideBySide } from '../side-by-side.js';

/** Time between two reads of the agenda while wake-ups do not arrive, in milliseconds. */
const WITHOUT_WAKE_UPS_MS = 250;
/** Maximum number of accounts taken from the agenda at once. */
const MAX_TAKEN = 64;
/** Lease of a task, in milliseconds. Another worker takes over the task when the lease of a dead worker expires. */
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
  private readonly alarm: AgendaAlarm;
  private loop: Promise<void> = Promise.resolve();
  private failed = false;

  constructor(
    private readonly rounds: Pick<PeriodicRelayTasks, 'promote'>,
    private readonly agenda: Pick<Agenda, 'claimDue' | 'complete'>,
    private readonly logger: Logger,
    wakeUps: AgendaWakeUps,
    limits: AlarmLimits = {
      withoutWakeUpsMs: WITHOUT_WAKE_UPS_MS,
      withWakeUpsMs: SCHEDULED_SENDS_CHECK_INTERVAL_MS,
    },
  ) {
    this.alarm = new AgendaAlarm(limits, wakeUps);
  }

  onApplicationBootstrap(): void {
    this.alarm.start();
    this.loop = this.run();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping = true;
    this.alarm.stop();
    await this.loop;
    await this.runner.ended();
  }

  /** Ends the sleep and reads the agenda now. Called when a send may be due earlier than all others. */
  readAgendaNow(): void {
    this.alarm.within(0);
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      this.alarm.reset();
      this.alarm.within(await this.promoteDue());
      await this.alarm.wait();
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
          'could not read the due time of the next scheduled send from Redis; retrying',
        );
      this.failed = true;
      return WITHOUT_WAKE_UPS_MS;
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
        'could not store the due time of the next scheduled send of an account; a worker checks the account again in a few seconds',
      );
    }
  }
}
