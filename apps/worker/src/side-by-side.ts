import { pause } from '#platform';

/** So many accounts' works are begun and waited for at a time. */
const PLACES = 16;
/** A work that takes longer gives its place up, and goes on by itself. */
const PATIENCE_MS = 1_000;

/**
 * Does one kind of work for many accounts, side by side: each account's one at a time, and none waits for another's
 * that takes long.
 */
export class SideBySide<Result = void> {
  private readonly underWay = new Map<string, Promise<unknown>>();

  constructor(
    private readonly patienceMs = PATIENCE_MS,
    private readonly places = PLACES,
  ) {}

  /**
   * Begins the work for each account for which it is not under way already. Resolves with the results of those that
   * ended in time, in no order; the others go on.
   * @param work must not reject
   */
  async run(accounts: readonly string[], work: (account: string) => Promise<Result>): Promise<Result[]> {
    const waiting = accounts.values();
    const results: Result[] = [];
    const place = async (): Promise<void> => {
      for (const account of waiting) {
        if (!this.underWay.has(account)) await this.within(this.begin(account, work, results));
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.places, accounts.length) }, place));
    return results.slice();
  }

  /** Resolves when nothing is under way any more. */
  async ended(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay.values());
  }

  private begin(
    account: string,
    work: (account: string) => Promise<Result>,
    results: Result[],
  ): Promise<unknown> {
    const task = work(account).then((result) => {
      this.underWay.delete(account);
      results.push(result);
    });
    this.underWay.set(account, task);
    return task;
  }

  private async within(task: Promise<unknown>): Promise<void> {
    const given = new AbortController();
    await Promise.race([task, pause(this.patienceMs, given.signal)]);
    given.abort();
  }
}
