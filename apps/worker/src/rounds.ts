import type { Queue } from 'bullmq';
import { AccountGoneError } from '#accounts';
import {
  type Agenda,
  type AgendaTime,
  type DatedTask,
  type Logger,
  SURVEY_EVERY_MS,
  type TakenTask,
} from '#platform';
import type { AccountFollower } from './account-watch.js';
import { SideBySide } from './side-by-side.js';

/** Work of one kind, one account at a time. Running it twice at once does no harm. */
export interface Round {
  /** Does what is due. @returns when it is due again; undefined: not before something asks for it */
  run(account: string): Promise<AgendaTime | undefined>;
}

/** The rounds of one role. */
export interface RoleRounds {
  /** How often the agenda is asked what is due, in milliseconds. */
  tickMs: number;
  /** By name. */
  rounds: Readonly<Record<string, Round>>;
  /**
   * When each round of an account is due, by the account's own keys, as cheaply as can be. It finds what a crash, an
   * earlier build or a Redis that lost its last seconds kept from the agenda.
   */
  survey(account: string): Promise<Readonly<Record<string, AgendaTime | undefined>>>;
  /** What the role can do about a Redis that is full, in which neither the agenda nor the ticks go on. */
  relief?: Relief;
}

/** Removes what retention lets go, by scripts that begin by removing: a full Redis refuses all others. */
export interface Relief {
  isNeeded(): Promise<boolean>;
  run(account: string): Promise<void>;
}

/** When a round is due again, and what else it found due. */
interface RoundEnd {
  next: AgendaTime | undefined;
  others?: DatedTask[];
}

/** A round of each account, besides those of its role. */
export const SURVEY = 'survey';
/** When a worker starts it has every account surveyed, one after another at such a distance. */
const SURVEY_DISTANCE_MS = 5;

/** So many tasks are taken at once, and so many one process has under way. */
const MAX_TAKEN = 64;
const MAX_UNDER_WAY = 256;
/** The tasks of a worker that died are another's after so long. A round that takes longer renews its lease. */
const LEASE_MS = 2_400;
const RENEW_EVERY_MS = 800;
/** A round that failed comes again after this. */
const AFTER_FAILURE_MS = 1_000;

/** How often it is seen to that the ticks and the surveys are there: an emptied Redis loses them. */
const ENSURE_EVERY_MS = 10_000;
/** Ticks that are so much overdue lost their next job: they are scheduled anew. */
const STUCK_AFTER_MS = 2_000;
/** How often it is looked whether Redis is full. */
const RELIEVE_EVERY_MS = 5_000;
const TICK = 'tick';

/**
 * Keeps the ticks of one role in Redis, where all workers of the role share them, and at each tick runs the rounds that
 * are due of the accounts for which they are due.
 */
export class RoundSchedule implements AccountFollower {
  private timers: NodeJS.Timeout[] = [];
  private stopping = false;
  private relieving = false;
  private readonly places = new SideBySide();
  private readonly underWay = new Set<TakenTask>();
  private readonly accounts = new Set<string>();
  /** Those that came and whose survey was not asked for yet; whether at once. */
  private readonly fresh = new Map<string, boolean>();

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
        this.logger.warn({ err: error }, 'the rounds could not be scheduled; trying again');
      });
    };
    const renew = (): void => {
      this.agenda.renew([...this.underWay], LEASE_MS).catch((error: unknown) => {
        // Then others may run them, too.
        this.logger.debug({ err: error }, 'the leases of rounds could not be renewed');
      });
    };
    ensure();
    const relieve = (): void => {
      this.relieve().catch((error: unknown) => {
        this.logger.warn({ err: error }, 'a full Redis could not be relieved; trying again');
      });
    };
    this.timers = [
      setInterval(ensure, ENSURE_EVERY_MS),
      setInterval(renew, RENEW_EVERY_MS),
      ...(this.role.relief === undefined ? [] : [setInterval(relieve, RELIEVE_EVERY_MS)]),
    ];
  }

  /** Begins no round any more; resolves when those that are under way have ended. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.places.ended();
    for (const timer of this.timers) clearInterval(timer);
  }

  came(account: string, isNew: boolean): void {
    this.accounts.add(account);
    this.surveySoon(account, isNew);
  }

  changed(account: string): void {
    this.surveySoon(account, true);
  }

  went(account: string): void {
    this.accounts.delete(account);
    const rounds = [SURVEY, ...Object.keys(this.role.rounds)];
    this.agenda.remove(rounds.map((round) => ({ account, round }))).catch((error: unknown) => {
      this.logger.debug({ account, err: error }, 'a removed account stays on the agenda until it is due');
    });
  }

  /** Runs what is due. One account's trouble is not another's, and what takes long is not waited for. */
  async run(): Promise<void> {
    for (let mayBeMore = true; mayBeMore && !this.stopping;) {
      const room = Math.min(MAX_TAKEN, MAX_UNDER_WAY - this.underWay.size);
      if (room <= 0) return;
      const { tasks } = await this.agenda.takeDue(room, LEASE_MS);
      const byKey = new Map(tasks.map((task) => [`${task.round} ${task.account} ${task.claim}`, task]));
      for (const task of tasks) this.underWay.add(task);
      await this.places.run([...byKey.keys()], async (key) => {
        const task = byKey.get(key);
        if (task !== undefined) await this.runTask(task);
      });
      mayBeMore = tasks.length === room;
    }
  }

  private async runTask(task: TakenTask): Promise<void> {
    try {
      // It may have waited for its place while the process was told to stop: then another runs it at once.
      const { next, others } = this.stopping ? { next: 0 } : await this.runRound(task);
      await this.agenda.next(task, next, others);
    } catch (error) {
      this.logger.warn({ ...task, err: error }, 'the end of a round was not noted; it comes again');
    } finally {
      this.underWay.delete(task);
    }
  }

  private async runRound({ account, round }: TakenTask): Promise<RoundEnd> {
    try {
      if (round === SURVEY) return { next: { everyMs: SURVEY_EVERY_MS }, others: await this.survey(account) };
      return { next: await this.role.rounds[round]?.run(account) };
    } catch (error) {
      if (error instanceof AccountGoneError) return { next: undefined };
      this.logger.error({ account, round, err: error }, 'a round failed; it comes again');
      return { next: AFTER_FAILURE_MS };
    }
  }

  /** What the account has due. */
  private async survey(account: string): Promise<DatedTask[]> {
    const times = Object.entries(await this.role.survey(account));
    return times.flatMap(([round, time]) => (time === undefined ? [] : [{ account, round, time }]));
  }

  private async relieve(): Promise<void> {
    const { relief } = this.role;
    if (relief === undefined || this.relieving || this.stopping || !(await relief.isNeeded())) return;
    this.relieving = true;
    try {
      this.logger.warn('Redis is full: what retention lets go is removed now');
      for (const account of this.accounts) await relief.run(account);
    } finally {
      this.relieving = false;
    }
  }

  private surveySoon(account: string, atOnce: boolean): void {
    this.fresh.set(account, atOnce);
    // All that come in the same step are one call.
    if (this.fresh.size === 1) queueMicrotask(() => void this.surveyFresh());
  }

  private async surveyFresh(): Promise<void> {
    const fresh = [...this.fresh];
    this.fresh.clear();
    try {
      await this.agenda.at(
        fresh.map(([account, atOnce], n) => ({
          ...{ account, round: SURVEY },
          time: atOnce ? 0 : n * SURVEY_DISTANCE_MS,
        })),
      );
    } catch (error) {
      this.logger.warn({ err: error }, 'accounts come onto the agenda later');
    }
  }

  private async ensure(): Promise<void> {
    const { tickMs } = this.role;
    const scheduled = await this.queue.getJobScheduler(TICK);
    if (scheduled?.every !== tickMs || isStuck(scheduled.next, tickMs)) {
      const opts = { removeOnComplete: true, removeOnFail: true };
      await this.queue.upsertJobScheduler(TICK, { every: tickMs }, { name: TICK, data: {}, opts });
    }
    await this.agenda.add(
      [...this.accounts].map((account, n) => ({ account, round: SURVEY, time: n * SURVEY_DISTANCE_MS })),
    );
  }
}

function isStuck(next: number | undefined, everyMs: number): boolean {
  return (next ?? 0) < Date.now() - Math.max(2 * everyMs, STUCK_AFTER_MS);
}
