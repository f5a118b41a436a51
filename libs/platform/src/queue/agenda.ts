/**
 * When a task is due. A number: that many milliseconds from now. `atMs`: a time in milliseconds since 1970 by Redis'
 * clock. `everyMs`: the next turn of an interval, in milliseconds. The turns of different tasks are spread evenly
 * over the interval.
 */
export type AgendaTime = number | { atMs: number } | { everyMs: number };

/** Work of one kind for one account. */
export interface AgendaTask {
  account: string;
  /** The kind of work. */
  round: string;
}

/** A task with the time when it is due. */
export interface ScheduledTask extends AgendaTask {
  time: AgendaTime;
}

/** A task that this process has claimed until its lease ends. */
export interface ClaimedTask extends AgendaTask {
  /** Id of the claim. A claim that is no longer the newest one of its task has no effect. */
  claim: string;
}

/** Result of taking the tasks that are due. */
export interface DueTasks {
  tasks: ClaimedTask[];
  /**
   * Time until the next task is due, including leases that end, in milliseconds. 0 if a task is due now; absent if
   * there is no task.
   */
  nextInMs?: number;
}

/**
 * Tasks of all accounts, sorted by the time when they are due. A round thus costs work only for the tasks that are
 * due. All times are by Redis' clock. An agenda is a hint: the account's own keys say what is to be done. A survey of
 * each account finds work that a crash kept off the agenda.
 */
export interface Agenda {
  /**
   * Makes these tasks due at their times at the latest. A task that is under way becomes due again at that time,
   * after it has ended.
   */
  schedule(tasks: readonly ScheduledTask[]): Promise<void>;

  /** Adds the tasks that are not on the agenda yet. The others stay unchanged. */
  addMissing(tasks: readonly ScheduledTask[]): Promise<void>;

  /** Claims at most `count` tasks that are due, the earliest first. Each claim lasts `leaseMs` milliseconds. */
  claimDue(count: number, leaseMs: number): Promise<DueTasks>;

  /** Extends leases to `leaseMs` milliseconds from now, except for tasks that another process has claimed since. */
  renew(tasks: readonly ClaimedTask[], leaseMs: number): Promise<void>;

  /**
   * Ends a claimed task. The task is due again at `time`, or earlier if {@link schedule} was called with an earlier time meanwhile.
   * @param others tasks that the work made due, written in the same step; see {@link schedule}
   */
  complete(task: ClaimedTask, time: AgendaTime | undefined, others?: readonly ScheduledTask[]): Promise<void>;

  /** Removes tasks, even those under way. */
  remove(tasks: readonly AgendaTask[]): Promise<void>;
}

/** Time between two surveys of an account's work, in milliseconds. Work that is due later than this needs no hint. */
export const DUE_TIMES_CHECK_INTERVAL_MS = 60_000;
