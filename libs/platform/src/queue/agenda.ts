/**
 * When a task is due. A plain number means milliseconds from now. `atMs` is a time in milliseconds since 1970
 * by Redis' clock. `everyMs` is the interval, in milliseconds, of a task that is due again and again. Different
 * tasks with the same interval are due at different times, spread evenly over the interval.
 */
export type AgendaTime = number | { atMs: number } | { everyMs: number };

/** Work of one kind for one account. */
export interface AgendaTask {
  account: string;
  /** Name of the round, which says what kind of work the task is. */
  round: string;
}

/** A task together with the time at which it is due. */
export interface ScheduledTask extends AgendaTask {
  time: AgendaTime;
}

/** A task that this process has claimed. The claim lasts until its lease ends. */
export interface ClaimedTask extends AgendaTask {
  /** Id of the claim. If the task is claimed again later, this claim can no longer renew or end the task. */
  claim: string;
}

/** Result of {@link Agenda.claimDue}. */
export interface DueTasks {
  tasks: ClaimedTask[];
  /**
   * Time until the next task is due or the next lease ends, in milliseconds. 0 if a task is due now; absent
   * if the agenda is empty.
   */
  nextInMs?: number;
}

/**
 * The tasks of all accounts with their due times. A worker asks the agenda for due tasks, and therefore spends no
 * time on accounts without due tasks. All times are by Redis' clock. After a crash, a task may be missing from the
 * agenda, but the account's data in Redis still says what is to be done. Workers therefore check the data of each
 * account regularly.
 */
export interface Agenda {
  /**
   * Makes each task due at its `time`, unless the task already has an earlier due time. A claimed task stays claimed.
   * It becomes due again at `time`, but not before its claim ends.
   */
  schedule(tasks: readonly ScheduledTask[]): Promise<void>;

  /** Adds the tasks that are not on the agenda yet. Tasks that are already on the agenda keep their due times. */
  addMissing(tasks: readonly ScheduledTask[]): Promise<void>;

  /** Claims at most `count` tasks that are due, the earliest first. Each claim lasts `leaseMs` milliseconds. */
  claimDue(count: number, leaseMs: number): Promise<DueTasks>;

  /**
   * Extends the leases of these tasks to `leaseMs` milliseconds from now. A task that was claimed again, ended or
   * removed in the meantime is left unchanged.
   */
  renew(tasks: readonly ClaimedTask[], leaseMs: number): Promise<void>;

  /**
   * Ends a claimed task. The task is due again at `time`, or at the time of a {@link schedule} call during the claim,
   * whichever is earlier. If neither of these times exists, the task is removed from the agenda. If another process
   * has claimed the task meanwhile, its claim stays, and `time` is ignored. If the task was ended or removed
   * meanwhile, it is due at `time` at the latest; without `time`, nothing changes.
   * @param others further tasks; they are scheduled in the same step (see {@link schedule})
   * @returns the time until the next task is due or the next lease ends, in milliseconds; undefined if the agenda is
   * empty
   */
  complete(
    task: ClaimedTask,
    time: AgendaTime | undefined,
    others?: readonly ScheduledTask[],
  ): Promise<number | undefined>;

  /**
   * Notifies the other workers of the time when the next task is due. A worker calls this method when it stops,
   * because the other workers may not know when the tasks that it completed are due again.
   */
  wakeOthers(): Promise<void>;

  /** Removes tasks from the agenda, even claimed ones. */
  remove(tasks: readonly AgendaTask[]): Promise<void>;
}

/**
 * Wakes the workers that wait for the next task of an agenda, so that they need not poll the agenda. A wake-up is
 * sent when a newly scheduled task is due before all other tasks, when a completed task is due again at once, and
 * when a worker stops. Wake-ups can be lost.
 */
export interface AgendaWakeUps {
  /** Returns true if wake-ups currently reach this process. If not, this process must read the agenda often. */
  isReceiving(): boolean;

  /**
   * @param onSooner called at each wake-up with the time until the earliest task is due, in milliseconds; called with
   * 0 if wake-ups may have been lost
   */
  listen(onSooner: (inMs: number) => void): void;
}

/**
 * Workers check the stored data of each account at this interval, in milliseconds, to find out when its work is due.
 * Work that is due only after the next check need not be written to the agenda (the due times in Redis), because that
 * check finds it.
 */
export const ACCOUNT_DUE_TIMES_CHECK_INTERVAL_MS = 60_000;
