import type { Agenda, AgendaTask, AgendaTime, ScheduledTask, DueTasks, ClaimedTask } from '#platform';

const keyOf = ({ round, account }: AgendaTask): string => `${round} ${account}`;

/** A claimed task and the end of its lease, by `performance.now()`. */
interface Claim extends ClaimedTask {
  leaseEnd: number;
}

/**
 * An {@link Agenda} in memory for tests, which keeps the rules that `agenda.spec.ts` checks. A task with a later time
 * becomes due only when the test makes it due.
 */
export class MemoryAgenda implements Agenda {
  /** Each task with its requested time. */
  readonly tasks = new Map<string, ScheduledTask>();
  readonly renewed: string[] = [];
  /** Number of times that the other workers were woken. */
  wakeUps = 0;
  private claims = 0;
  private readonly taken = new Map<string, Claim>();

  schedule(tasks: readonly ScheduledTask[]): Promise<void> {
    for (const task of tasks) {
      const earlier = this.tasks.get(keyOf(task))?.time;
      if (earlier === undefined || typeof earlier !== 'number' || isSooner(task.time, earlier))
        this.tasks.set(keyOf(task), task);
    }
    return Promise.resolve();
  }

  addMissing(tasks: readonly ScheduledTask[]): Promise<void> {
    for (const task of tasks) {
      const key = keyOf(task);
      if (!this.tasks.has(key) && !this.taken.has(key)) this.tasks.set(key, task);
    }
    return Promise.resolve();
  }

  claimDue(count: number, leaseMs: number): Promise<DueTasks> {
    const now = performance.now();
    const isClaimed = (task: AgendaTask): boolean => (this.taken.get(keyOf(task))?.leaseEnd ?? 0) > now;
    const requested = [...this.tasks.values()].filter(({ time }) => time === 0);
    // A task whose lease has ended is due again, even if it was not requested since its claim.
    const due = new Map([...requested, ...this.taken.values()].map((task) => [keyOf(task), task]));
    const free = [...due.values()].filter((task) => !isClaimed(task));
    const tasks = free.slice(0, count).map(({ account, round }) => {
      this.claims += 1;
      const task = { account, round, claim: String(this.claims) };
      this.taken.set(keyOf(task), { ...task, leaseEnd: now + leaseMs });
      this.tasks.delete(keyOf(task));
      return task;
    });
    const nextInMs = this.nextInMs();
    return Promise.resolve({ tasks, ...(nextInMs === undefined ? {} : { nextInMs }) });
  }

  renew(tasks: readonly ClaimedTask[], leaseMs: number): Promise<void> {
    this.renewed.push(...tasks.map(keyOf));
    for (const task of tasks) {
      const claim = this.claimOf(task);
      if (claim !== undefined) claim.leaseEnd = performance.now() + leaseMs;
    }
    return Promise.resolve();
  }

  async complete(
    task: ClaimedTask,
    time: AgendaTime | undefined,
    others: readonly ScheduledTask[] = [],
  ): Promise<number | undefined> {
    if (this.claimOf(task) !== undefined) {
      this.taken.delete(keyOf(task));
      if (time !== undefined) await this.schedule([{ ...task, time }]);
    }
    await this.schedule(others);
    return this.nextInMs();
  }

  wakeOthers(): Promise<void> {
    this.wakeUps += 1;
    return Promise.resolve();
  }

  remove(tasks: readonly AgendaTask[]): Promise<void> {
    for (const task of tasks) {
      this.tasks.delete(keyOf(task));
      this.taken.delete(keyOf(task));
    }
    return Promise.resolve();
  }

  /** Returns the claim of a task, or undefined if the task was removed or claimed again. */
  private claimOf(task: ClaimedTask): Claim | undefined {
    const claim = this.taken.get(keyOf(task));
    return claim?.claim === task.claim ? claim : undefined;
  }

  private nextInMs(): number | undefined {
    const now = performance.now();
    const times = [...this.tasks.entries()].flatMap(([key, { time }]) =>
      typeof time === 'number' && !this.taken.has(key) ? [time] : [],
    );
    const leases = [...this.taken.values()].map(({ leaseEnd }) => Math.max(leaseEnd - now, 0));
    const nextInMs = Math.min(...times, ...leases);
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
