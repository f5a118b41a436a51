/**
 * When something is due: in so many milliseconds; at a time, in milliseconds since 1970 by Redis' clock; or at the next
 * turn of something that comes every so many milliseconds. Each task has its own turn, so that those of many accounts
 * are spread evenly.
 */
export type AgendaTime = number | { atMs: number } | { everyMs: number };

/** Work of one kind for one account. */
export interface AgendaTask {
  account: string;
  /** The kind of work. */
  round: string;
}

/** A task and when it is due. */
export interface DatedTask extends AgendaTask {
  time: AgendaTime;
}

/** A task that this process may do until its lease ends. */
export interface TakenTask extends AgendaTask {
  /** Names this claim; one that is not the newest any more changes nothing. */
  claim: string;
}

/** What was due. */
export interface DueTasks {
  tasks: TakenTask[];
  /** In how many milliseconds the next task is due, leases included; 0 if one is due now, absent if there is none. */
  nextInMs?: number;
}

/**
 * Tasks of all accounts by the time when they are due, so that a round costs what is due, not what exists. All times are
 * by Redis' clock. An agenda is a hint: what is to be done stands in the account's own keys, and what a crash kept from
 * being put on the agenda is found by a survey of each account.
 */
export interface Agenda {
  /**
   * Sees to it that these tasks are due at their times at the latest. One that is under way is due again then, after its
   * end.
   */
  at(tasks: readonly DatedTask[]): Promise<void>;

  /** Adds those tasks that are not there; the others stay as they are. */
  add(tasks: readonly DatedTask[]): Promise<void>;

  /** Takes tasks that are due, the earliest first, at most `count`. None is due again before `leaseMs` have gone by. */
  takeDue(count: number, leaseMs: number): Promise<DueTasks>;

  /** Prolongs leases to `leaseMs` from now; those that are another's by now stay as they are. */
  renew(tasks: readonly TakenTask[], leaseMs: number): Promise<void>;

  /**
   * Ends a task that was taken. It is due again at this time, or sooner if that was asked for meanwhile.
   * @param others what it found due is asked for with it, see {@link at}
   */
  next(task: TakenTask, time: AgendaTime | undefined, others?: readonly DatedTask[]): Promise<void>;

  /** Removes tasks, under way or not. */
  remove(tasks: readonly AgendaTask[]): Promise<void>;
}

/** So often each account's work is looked at anyway, in milliseconds: what is due later than this need not be told. */
export const SURVEY_EVERY_MS = 60_000;
