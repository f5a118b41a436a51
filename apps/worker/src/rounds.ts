import type { Queue } from 'bullmq';
import { AccountNotFoundError } from '#accounts';
import {
  type Agenda,
  type AgendaTime,
  type ScheduledTask,
  type Logger,
  DUE_TIMES_CHECK_INTERVAL_MS,
  type ClaimedTask,
} from '#platform';
import type { AccountFollower } from './account-watch.js';
import { SideBySide } from './side-by-side.js';

/**
 * A recurring task that runs for one account at a time. Two concurrent runs for the same account are
 * harmless.
 */
export interface Round {
  /**
   * Does the due work.
   * @returns when the round is due again; undefined if it only runs on request
   */
  run(account: string): Promise<AgendaTime | undefined>;
}

/** The rounds of one role. */
export interface RoleRounds {
  /** Time between two reads of the agenda, in milliseconds. */
  tickMs: number;
  /** The rounds by name. */
  rounds: Readonly<Record<string, Round>>;
  /**
   * Returns when each round of an account is due, from the account's own keys. Must be cheap. The survey
   * finds work that is missing from the agenda after a crash, after an update of the program, or after Redis
   * lost its last writes.
   */
  survey(account: string): Promise<Readonly<Record<string, AgendaTime | undefined>>>;
  /** Frees memory in a full Redis, where neither the agenda nor the ticks work. */
  relief?: Relief;
}

/**
 * Removes records according to retention. Its scripts must start with a delete: a full Redis refuses all
 * others.
 */
export interface Relief {
  isNeeded(): Promise<boolean>;
  run(account: string): Promise<void>;
}

/** The result of a round: when it is due again, and which other tasks it found due. */
interface RoundEnd {
  next: AgendaTime | undefined;
  others?: ScheduledTask[];
}

/** Name of the round that surveys an account. Every role has this round. */
export const SURVEY = 'survey';
/** Time between the surveys of two accounts when a worker starts, in milliseconds. */
const SURVEY_SPACING_MS = 5;

/** Maximum number of tasks taken from the agenda at once. */
const MAX_TAKEN = 64;
/** Maximum number of running tasks in one process. */
const MAX_RUNNING = 256;
/**
 * Lease of a task, in milliseconds. Longer rounds renew the lease. Another worker takes over the tasks of a
 * dead worker when their leases expire.
 */
const LEASE_MS = 2_400;
const RENEW_INTERVAL_MS = 800;
/** Delay until a failed round runs again, in milliseconds. */
const RETRY_DELAY_MS = 1_000;

/**
 * Time between two checks that the ticks and the surveys exist, in milliseconds. A flushed Redis loses both.
 */
const ENSURE_INTERVAL_MS = 10_000;
/** Time by which a tick is overdue before the tick schedule is created again, in milliseconds. */
const STUCK_AFTER_MS = 2_000;
/** Time between two checks for a full Redis, in milliseconds. */
const RELIEF_INTERVAL_MS = 5_000;
const TICK = 'tick';

/**
 * Runs the due rounds of one role. The ticks are a BullMQ job scheduler in Redis, shared by all workers of
 * the role. Each tick reads the agenda and runs the due rounds.
 */
export class RoundSchedule implements AccountFollower {
  private timers: NodeJS.Timeout[] = [];
  private stopping = false;
  private relieving = false;
  private readonly runner = new SideBySide();
  private readonly running = new Set<ClaimedTask>();
  private readonly accounts = new Set<string>();
  /** New accounts whose survey is not yet scheduled. The value is true if the survey is due at once. */
  private readonly unsurveyed = new Map<string, boolean>();

  constructor(
    private readonly queue: Pick<Queue, 'on' | 'getJobScheduler' | 'upsertJobScheduler'>,
    private readonly agenda: Agenda,
    private readonly role: RoleRounds,
    private readonly logger: Logger,
  ) {
    queue.on('error', () => undefined);
  }

  start(): void {
    const ensure = (): void => {
      this.ensure().catch((error: unknown) => {
        this.logger.warn({ err: error }, 'could not schedule the periodic tasks of accounts; retrying');
      });
    };
    const renew = (): void => {
      this.agenda.renew([...this.running], LEASE_MS).catch((error: unknown) => {
        // After a lost lease, another worker may run the round too.
        this.logger.debug({ err: error }, 'could not renew the leases of running periodic tasks');
      });
    };
    ensure();
    const relieve = (): void => {
      this.relieve().catch((error: unknown) => {
        this.logger.warn(
          { err: error },
          'Redis is out of memory, and old records could not be removed; retrying',
        );
      });
    };
    this.timers = [
      setInterval(ensure, ENSURE_INTERVAL_MS),
      setInterval(renew, RENEW_INTERVAL_MS),
      ...(this.role.relief === undefined ? [] : [setInterval(relieve, RELIEF_INTERVAL_MS)]),
    ];
  }

  /** Stops starting rounds. Resolves when all running rounds have ended. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.runner.ended();
    for (const timer of this.timers) clearInterval(timer);
  }

  added(account: string, isNew: boolean): void {
    this.accounts.add(account);
    this.scheduleSurvey(account, isNew);
  }

  changed(account: string): void {
    this.scheduleSurvey(account, true);
  }

  removed(account: string): void {
    this.accounts.delete(account);
    const rounds = [SURVEY, ...Object.keys(this.role.rounds)];
    this.agenda.remove(rounds.map((round) => ({ account, round }))).catch((error: unknown) => {
      this.logger.debug(
        { account, err: error },
        'could not remove the periodic tasks of a removed account; each task ends when it is next due',
      );
    });
  }

  /** Runs the due tasks. An error affects only its own account. Slow tasks continue in the background. */
  async run(): Promise<void> {
    for (let mayBeMore = true; mayBeMore && !this.stopping;) {
      const maxTasks = Math.min(MAX_TAKEN, MAX_RUNNING - this.running.size);
      if (maxTasks <= 0) return;
      const { tasks } = await this.agenda.claimDue(maxTasks, LEASE_MS);
      const byKey = new Map(tasks.map((task) => [`${task.round} ${task.account} ${task.claim}`, task]));
      for (const task of tasks) this.running.add(task);
      await this.runner.run([...byKey.keys()], async (key) => {
        const task = byKey.get(key);
        if (task !== undefined) await this.runTask(task);
      });
      mayBeMore = tasks.length === maxTasks;
    }
  }

  private async runTask(task: ClaimedTask): Promise<void> {
    try {
      // The process may have begun to stop while the task waited for a slot. Another worker then runs the
      // task at once.
      const { next, others } = this.stopping ? { next: 0 } : await this.runRound(task);
      await this.agenda.complete(task, next, others);
    } catch (error) {
      this.logger.warn(
        { ...task, err: error },
        'could not store that a periodic task of an account ended; the task runs again',
      );
    } finally {
      this.running.delete(task);
    }
  }

  private async runRound({ account, round }: ClaimedTask): Promise<RoundEnd> {
    try {
      if (round === SURVEY)
        return { next: { everyMs: DUE_TIMES_CHECK_INTERVAL_MS }, others: await this.survey(account) };
      return { next: await this.role.rounds[round]?.run(account) };
    } catch (error) {
      if (error instanceof AccountNotFoundError) return { next: undefined };
      this.logger.error(
        { account, round, err: error },
        'a periodic task of an account failed; the task runs again',
      );
      return { next: RETRY_DELAY_MS };
    }
  }

  /** Returns the due rounds of the account. */
  private async survey(account: string): Promise<ScheduledTask[]> {
    const times = Object.entries(await this.role.survey(account));
    return times.flatMap(([round, time]) => (time === undefined ? [] : [{ account, round, time }]));
  }

  private async relieve(): Promise<void> {
    const { relief } = this.role;
    if (relief === undefined || this.relieving || this.stopping || !(await relief.isNeeded())) return;
    this.relieving = true;
    try {
      this.logger.warn('Redis is out of memory: removing records whose retention period has ended');
      for (const account of this.accounts) await relief.run(account);
    } finally {
      this.relieving = false;
    }
  }

  private scheduleSurvey(account: string, atOnce: boolean): void {
    this.unsurveyed.set(account, atOnce);
    // Accounts that are added in the same step share one call.
    if (this.unsurveyed.size === 1) queueMicrotask(() => void this.scheduleSurveys());
  }

  private async scheduleSurveys(): Promise<void> {
    const due = [...this.unsurveyed];
    this.unsurveyed.clear();
    try {
      await this.agenda.schedule(
        due.map(([account, atOnce], n) => ({
          ...{ account, round: SURVEY },
          time: atOnce ? 0 : n * SURVEY_SPACING_MS,
        })),
      );
    } catch (error) {
      this.logger.warn(
        { err: error },
        'could not schedule the task that checks each account for due work; retrying later',
      );
    }
  }

  private async ensure(): Promise<void> {
    const { tickMs } = this.role;
    const scheduled = await this.queue.getJobScheduler(TICK);
    if (scheduled?.every !== tickMs || isStuck(scheduled.next, tickMs)) {
      const opts = { removeOnComplete: true, removeOnFail: true };
      await this.queue.upsertJobScheduler(TICK, { every: tickMs }, { name: TICK, data: {}, opts });
    }
    await this.agenda.addMissing(
      [...this.accounts].map((account, n) => ({ account, round: SURVEY, time: n * SURVEY_SPACING_MS })),
    );
  }
}

function isStuck(next: number | undefined, everyMs: number): boolean {
  return (next ?? 0) < Date.now() - Math.max(2 * everyMs, STUCK_AFTER_MS);
}
