import { pause } from '#platform';

/** Number of accounts whose jobs are started and awaited at the same time. */
const SLOTS = 16;
/** Time after which a running job frees its slot and continues in the background, in milliseconds. */
const PATIENCE_MS = 1_000;

/**
 * Runs one kind of job for many accounts concurrently. Each account has at most one job at a time. A slow job
 * of one account does not delay the others.
 */
export class SideBySide<Result = void> {
  private readonly running = new Map<string, Promise<unknown>>();
  /** The calls of {@link run} that may still start jobs. */
  private readonly runs = new Set<Promise<unknown>>();

  constructor(
    private readonly patienceMs = PATIENCE_MS,
    private readonly slots = SLOTS,
  ) {}

  /**
   * Starts the job of each account whose previous job has ended. Resolves with the results of the jobs that
   * ended in time, in any order. Slower jobs continue in the background.
   * @param work must not reject
   */
  async run(accounts: readonly string[], work: (account: string) => Promise<Result>): Promise<Result[]> {
    const waiting = accounts.values();
    const results: Result[] = [];
    const runSlot = async (): Promise<void> => {
      for (const account of waiting) {
        if (!this.running.has(account)) await this.waitBriefly(this.start(account, work, results));
      }
    };
    const run = Promise.all(Array.from({ length: Math.min(this.slots, accounts.length) }, runSlot));
    this.runs.add(run);
    await run.finally(() => this.runs.delete(run));
    return results.slice();
  }

  /** Resolves when no job is running or waits for a slot. */
  async ended(): Promise<void> {
    while (this.running.size > 0 || this.runs.size > 0)
      await Promise.all([...this.runs, ...this.running.values()]);
  }

  private start(
    account: string,
    work: (account: string) => Promise<Result>,
    results: Result[],
  ): Promise<unknown> {
    const task = work(account).then((result) => {
      this.running.delete(account);
      results.push(result);
    });
    this.running.set(account, task);
    return task;
  }

  private async waitBriefly(task: Promise<unknown>): Promise<void> {
    const timer = new AbortController();
    await Promise.race([task, pause(this.patienceMs, timer.signal)]);
    timer.abort();
  }
}
