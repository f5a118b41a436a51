import { AccountNotFoundError } from '#accounts';
import {
  type Agenda,
  type AgendaTime,
  type AgendaWakeUps,
  type ScheduledTask,
  type Logger,
  ACCOUNT_DUE_TIMES_CHECK_INTERVAL_MS,
  type ClaimedTask,
  skipWhileRunning,
} from '#platform';
import type { AccountFollower } from './account-watch.js';
import { AgendaAlarm } from './agenda-alarm.js';
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
  /** Maximum time between two reads of the agenda while wake-ups do not arrive, in milliseconds. */
  tickMs: number;
  /** The rounds by name. */
  rounds: Readonly<Record<string, Round>>;
  /**
   * Returns when each round of an account is due, from the account's own keys. Must be cheap. The survey
   * finds work that is missing from the agenda after a crash, after an update of the program, or after Redis
   * lost its last writes.
   */
  survey(account: string): Promise<Readonly<Record<string, AgendaTime | undefined>>>;
  /** Frees memory in a full Redis, where the agenda does not work. */
  relief?: Relief;
}

/**
 * Removes records according to retention. Each of its scripts must delete before it writes anything else, because a
 * Redis that is out of memory refuses all other scripts that write.
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
export const MAX_RUNNING_TASKS = 256;
/**
 * Lease of a task, in milliseconds. Longer rounds renew the lease. Another worker takes over the tasks of a
 * dead worker when their leases expire.
 */
const LEASE_MS = 2_400;
const RENEW_INTERVAL_MS = 800;
/** Delay until a failed round runs again, in milliseconds. */
const RETRY_DELAY_MS = 1_000;

/** Time between two checks that the surveys exist, in milliseconds. A flushed Redis loses them. */
const ENSURE_INTERVAL_MS = 10_000;
/** Time between two checks for a full Redis, in milliseconds. */
const RELIEF_INTERVAL_MS = 5_000;
/**
 * Runs the due rounds of one role. Each worker reads the agenda when the next task is due, when another process
 * schedules an earlier task, and every few seconds in case the wake-up of such a task was lost.
 */
export class RoundSchedule implements AccountFollower {
  private timers: NodeJS.Timeout[] = [];
  private stopping = false;
  private readonly alarm: AgendaAlarm;
  private loop: Promise<void> = Promise.resolve();
  private hasFailed = false;
  private readonly runner = new SideBySide();
  private readonly running = new Set<ClaimedTask>();
  /** Renews the leases of the running tasks. Undefined while none runs. */
  private renewal: NodeJS.Timeout | undefined;
  private readonly renew = skipWhileRunning(() => this.agenda.renew([...this.running], LEASE_MS));
  private readonly accounts = new Set<string>();
  /** New accounts whose survey is not yet scheduled. The value is true if the survey is due at once. */
  private readonly unsurveyed = new Map<string, boolean>();

  constructor(
    private readonly agenda: Agenda,
    private readonly role: RoleRounds,
    private readonly logger: Logger,
    wakeUps: AgendaWakeUps,
  ) {
    this.alarm = new AgendaAlarm({ withoutWakeUpsMs: role.tickMs }, wakeUps);
  }

  start(): void {
    const ensure = skipWhileRunning(() =>
      this.ensure().catch((error: unknown) => {
        this.logger.warn({ err: error }, 'could not schedule the periodic tasks of accounts; retrying');
      }),
    );
    void ensure();
    const relieve = skipWhileRunning(() =>
      this.relieve().catch((error: unknown) => {
        this.logger.warn({ err: error }, 'could not check whether Redis is out of memory; retrying');
      }),
    );
    this.alarm.start();
    this.loop = this.readAgenda();
    this.timers = [
      setInterval(() => void ensure(), ENSURE_INTERVAL_MS),
      ...(this.role.relief === undefined ? [] : [setInterval(() => void relieve(), RELIEF_INTERVAL_MS)]),
    ];
  }

  /** Stops starting rounds. Resolves when all running rounds have ended. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.alarm.stop();
    await this.loop;
    await this.runner.ended();
    for (const timer of this.timers) clearInterval(timer);
    try {
      await this.agenda.wakeOthers();
    } catch (error) {
      this.logger.debug(
        { err: error },
        'could not notify the other workers of the next due periodic task; the workers read the due times from Redis within seconds',
      );
    }
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
    await (
      await this.begin()
    ).ended;
  }

  /** Reads the agenda until the process stops. */
  private async readAgenda(): Promise<void> {
    while (!this.stopping) {
      this.alarm.reset();
      this.alarm.within(await this.beginOrLog());
      await this.alarm.wait();
    }
  }

  private async beginOrLog(): Promise<number> {
    try {
      const { nextInMs } = await this.begin();
      this.hasFailed = false;
      return nextInMs;
    } catch (error) {
      // An outage of Redis is logged once.
      if (!this.hasFailed)
        this.logger.warn({ err: error }, 'could not read from Redis which periodic tasks are due; retrying');
      this.hasFailed = true;
      return this.role.tickMs;
    }
  }

  /**
   * Begins the due tasks. Returns the time until the next task is due, in milliseconds, and when the tasks have
   * ended or continue in the background.
   */
  private async begin(): Promise<{ nextInMs: number; ended: Promise<void> }> {
    const begun: Promise<unknown>[] = [];
    let next = Infinity;
    for (let mayBeMore = true; mayBeMore && !this.stopping;) {
      const maxTasks = Math.min(MAX_TAKEN, MAX_RUNNING_TASKS - this.running.size);
      if (maxTasks <= 0) break;
      const { tasks, nextInMs = Infinity } = await this.agenda.claimDue(maxTasks, LEASE_MS);
      next = nextInMs;
      const byKey = new Map(tasks.map((task) => [`${task.round} ${task.account} ${task.claim}`, task]));
      for (const task of tasks) this.running.add(task);
      this.renewWhileRunning();
      begun.push(
        this.runner.run([...byKey.keys()], async (key) => {
          const task = byKey.get(key);
          if (task !== undefined) await this.runTask(task);
        }),
      );
      mayBeMore = tasks.length === maxTasks;
    }
    return { nextInMs: next, ended: Promise.all(begun).then(() => undefined) };
  }

  private async runTask(task: ClaimedTask): Promise<void> {
    try {
      // The process may have begun to stop while the task waited for a slot. Another worker then runs the
      // task at once.
      const { next, others } = this.stopping ? { next: 0 } : await this.runRound(task);
      this.alarm.within((await this.agenda.complete(task, next, others)) ?? Infinity);
    } catch (error) {
      this.logger.warn(
        { ...task, err: error },
        'could not store that a periodic task of an account ended; the task runs again',
      );
    } finally {
      this.running.delete(task);
      this.renewWhileRunning();
    }
  }

  /**
   * Starts the timer that renews leases if tasks are running; otherwise stops it, so that it does not wake an idle
   * worker.
   */
  private renewWhileRunning(): void {
    if (this.running.size === 0) {
      clearInterval(this.renewal);
      this.renewal = undefined;
      return;
    }
    this.renewal ??= setInterval(() => {
      this.renew().catch((error: unknown) => {
        // After a lost lease, another worker may run the round too.
        this.logger.debug({ err: error }, 'could not renew the leases of running periodic tasks');
      });
    }, RENEW_INTERVAL_MS).unref();
  }

  /**
   * Runs a task. The tasks of an account that this process does not know are not scheduled again. Otherwise, the
   * tasks of an account that was removed while no worker ran would stay on the agenda, and a record that was written
   * late could make a task run forever. If the account is new and the process does not know it yet, its survey is
   * scheduled once the process knows it, and the survey schedules the other tasks.
   */
  private async runRound({ account, round }: ClaimedTask): Promise<RoundEnd> {
    try {
      if (round === SURVEY) {
        if (!this.accounts.has(account)) return { next: undefined };
        return { next: { everyMs: ACCOUNT_DUE_TIMES_CHECK_INTERVAL_MS }, others: await this.survey(account) };
      }
      const next = await this.role.rounds[round]?.run(account);
      return { next: this.accounts.has(account) ? next : undefined };
    } catch (error) {
      if (error instanceof AccountNotFoundError) return { next: undefined };
      this.logger.error(
        { account, round, err: error },
        'a periodic task of an account failed; the task runs again',
      );
      return { next: this.accounts.has(account) ? RETRY_DELAY_MS : undefined };
    }
  }

  /** Returns the due rounds of the account. */
  private async survey(account: string): Promise<ScheduledTask[]> {
    const times = Object.entries(await this.role.survey(account));
    return times.flatMap(([round, time]) => (time === undefined ? [] : [{ account, round, time }]));
  }

  private async relieve(): Promise<void> {
    const { relief } = this.role;
    if (relief === undefined || this.stopping || !(await relief.isNeeded())) return;
    this.logger.warn('Redis is nearly out of memory: removing records whose retention period has ended');
    for (const account of this.accounts) await this.relieveAccount(relief, account);
  }

  /** Removes old records of an account. An error affects only this account. */
  private async relieveAccount(relief: Relief, account: string): Promise<void> {
    try {
      await relief.run(account);
    } catch (error) {
      this.logger.warn(
        { account, err: error },
        'Redis is nearly out of memory, and old records of an account could not be removed; retrying',
      );
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
    await this.agenda.addMissing(
      [...this.accounts].map((account, n) => ({ account, round: SURVEY, time: n * SURVEY_SPACING_MS })),
    );
  }
}
