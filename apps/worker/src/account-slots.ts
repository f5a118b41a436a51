/** One account's work of a kind in this process. */
interface Line {
  running: number;
  /** What waits for a slot, in its order, by what it is about. */
  waiting: Map<string, () => Promise<void>>;
}

export interface SlotSettings {
  /** Over all accounts. */
  slots: number;
  /** The most that one account has under way. */
  perAccount: number;
  /** So much of one account waits; what comes beyond is dropped. */
  longestLine: number;
}

/** What waited when it was closed. */
export interface Waiting {
  account: string;
  about: string;
}

/**
 * Who may work how much in one process. An account has so many slots at most, and never more than are free: however many
 * accounts' upstreams hang, another one finds slots. What finds none waits in its account's own line, outside of the
 * queue, where it is in nobody's way.
 *
 * What waits is a hint. One that is dropped, or lost with the process, costs time only: what is due stands in Redis, and is
 * hinted at again.
 */
export class AccountSlots {
  private readonly lines = new Map<string, Line>();
  private readonly running = new Set<Promise<void>>();
  private free: number;
  private closed = false;

  get isClosed(): boolean {
    return this.closed;
  }

  constructor(private readonly settings: SlotSettings) {
    this.free = settings.slots;
  }

  /**
   * Begins a work, or lets it wait. One that waits already is not to be done twice; one that runs is.
   * @param work must not reject
   * @returns whether it was taken
   */
  offer(account: string, about: string, work: () => Promise<void>): boolean {
    if (this.closed) return false;
    const line = this.lines.get(account) ?? { running: 0, waiting: new Map<string, () => Promise<void>>() };
    if (!line.waiting.has(about) && line.waiting.size >= this.settings.longestLine) return false;
    line.waiting.set(about, work);
    this.lines.set(account, line);
    this.fill(line);
    return true;
  }

  /** How many works of an account are under way. */
  runningOf(account: string): number {
    return this.lines.get(account)?.running ?? 0;
  }

  /** Begins nothing any more; what waited, to be hinted at elsewhere. */
  close(): Waiting[] {
    this.closed = true;
    const left = [...this.lines].flatMap(([account, { waiting }]) =>
      [...waiting.keys()].map((about) => ({ account, about })),
    );
    for (const { waiting } of this.lines.values()) waiting.clear();
    return left;
  }

  /** Resolves when what runs has ended. */
  async ended(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private fill(line: Line): void {
    for (const [about, work] of line.waiting) {
      if (line.running >= Math.min(this.settings.perAccount, this.free)) return;
      line.waiting.delete(about);
      this.begin(line, work);
    }
  }

  private begin(line: Line, work: () => Promise<void>): void {
    line.running += 1;
    this.free -= 1;
    const task = work().then(() => {
      line.running -= 1;
      this.free += 1;
      this.running.delete(task);
      this.goOn();
    });
    this.running.add(task);
  }

  /** The slot that came free may be anybody's: those with the fewest come first. */
  private goOn(): void {
    for (const [account, line] of this.lines) {
      if (line.running === 0 && line.waiting.size === 0) this.lines.delete(account);
    }
    const waiting = [...this.lines.values()].filter((line) => line.waiting.size > 0);
    for (const line of waiting.sort((a, b) => a.running - b.running)) this.fill(line);
  }
}
