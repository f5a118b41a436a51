import type { Agenda, AgendaTask, AgendaTime, ScheduledTask, DueTasks, ClaimedTask } from '#platform';

const keyOf = ({ round, account }: AgendaTask): string => `${round} ${account}`;

/** An {@link Agenda} in memory for tests. A task with a later time becomes due only when the test makes it due. */
export class MemoryAgenda implements Agenda {
  /** Each task with its requested time. */
  readonly tasks = new Map<string, ScheduledTask>();
  readonly renewed: string[] = [];
  /** Number of times that the other workers were woken. */
  wakeUps = 0;
  private claims = 0;
  private readonly taken = new Map<string, ClaimedTask>();

  schedule(tasks: readonly ScheduledTask[]): Promise<void> {
    for (const task of tasks) {
      const earlier = this.tasks.get(keyOf(task))?.time;
      if (earlier === undefined || typeof earlier !== 'number' || isSooner(task.time, earlier))
        this.tasks.set(keyOf(task), task);
    }
    return Promise.resolve();
  }

  addMissing(tasks: readonly ScheduledTask[]): Promise<void> {
    for (const task of tasks) if (!this.tasks.has(keyOf(task))) this.tasks.set(keyOf(task), task);
    return Promise.resolve();
  }

  claimDue(count: number): Promise<DueTasks> {
    const due = [...this.tasks.values()].filter((task) => task.time === 0 && !this.taken.has(keyOf(task)));
    const tasks = due.slice(0, count).map(({ account, round }) => {
      this.claims += 1;
      const task = { account, round, claim: String(this.claims) };
      this.taken.set(keyOf(task), task);
      this.tasks.delete(keyOf(task));
      return task;
    });
    const nextInMs = this.nextInMs();
    return Promise.resolve({ tasks, ...(nextInMs === undefined ? {} : { nextInMs }) });
  }

  renew(tasks: readonly ClaimedTask[]): Promise<void> {
    this.renewed.push(...tasks.map(keyOf));
    return Promise.resolve();
  }

  async complete(
    task: ClaimedTask,
    time: AgendaTime | undefined,
    others: readonly ScheduledTask[] = [],
  ): Promise<number | undefined> {
    this.taken.delete(keyOf(task));
    if (time !== undefined) await this.schedule([{ ...task, time }]);
    await this.schedule(others);
    return this.nextInMs();
  }

  wakeOthers(): Promise<void> {
    this.wakeUps += 1;
    return Promise.resolve();
  }

  remove(tasks: readonly AgendaTask[]): Promise<void> {
    for (const task of tasks) this.tasks.delete(keyOf(task));
    return Promise.resolve();
  }

  private nextInMs(): number | undefined {
    const times = [...this.tasks.values()].map(({ time }) => (typeof time === 'number' ? time : Infinity));
    const nextInMs = Math.min(...times);
    return Number.isFinite(nextInMs) ? nextInMs : undefined;
  }

  /** The times of all tasks that are not running. */
  times(): Record<string, AgendaTime> {
    return Object.fromEntries([...this.tasks].map(([key, { time }]) => [key, time]));
  }
}

function isSooner(time: AgendaTime, than: number): boolean {
  return typeof time === 'number' && time < than;
}
