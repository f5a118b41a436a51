/** The running and waiting jobs of one account in this process. */
interface Line {
  running: number;
  /** Jobs that wait for a slot, in order of arrival, keyed by their subject. */
  waiting: Map<string, () => Promise<void>>;
}

/** Concurrency limits of one process. */
export interface SlotSettings {
  /** Number of slots over all accounts. */
  slots: number;
  /** Maximum number of slots that one account uses at the same time. */
  maxPerAccount: number;
  /** Maximum number of waiting jobs of one account. A job beyond this limit is dropped. */
  maxWaiting: number;
}

/** A job that was still waiting when the slots were closed. */
export interface WaitingJob {
  account: string;
  subject: string;
}

/**
 * Limits how many jobs run at the same time in one process. An account never uses more than its maximum, and
 * never more slots than are free. Free slots therefore remain for other accounts when many upstreams hang. A
 * job without a slot waits in its account's own line in this process, not in the BullMQ queue, where it would
 * block other accounts.
 *
 * A waiting job is only a hint. A job that is dropped or lost with the process is delayed, not lost: the due
 * work is stored in Redis, and a later round sends the hint again.
 */
export class AccountSlots {
  private readonly lines = new Map<string, Line>();
  private readonly running = new Set<Promise<void>>();
  private free: number;
  private closed = false;

  get isClosed(): boolean {
    return this.closed;
  }

  constructor(private readonly limits: SlotSettings) {
    this.free = limits.slots;
  }

  /**
   * Starts a job or lets it wait for a slot. A job is ignored if a job of the same subject already waits, but
   * not if one is running.
   * @param work must not reject
   * @returns false if the job was dropped
   */
  offer(account: string, subject: string, work: () => Promise<void>): boolean {
    if (this.closed) return false;
    const line = this.lines.get(account) ?? { running: 0, waiting: new Map<string, () => Promise<void>>() };
    if (!line.waiting.has(subject) && line.waiting.size >= this.limits.maxWaiting) return false;
    line.waiting.set(subject, work);
    this.lines.set(account, line);
    this.startWaiting(line);
    return true;
  }

  /** Stops starting jobs. Returns the waiting jobs so that the caller can hand them to other workers. */
  close(): WaitingJob[] {
    this.closed = true;
    const waitingJobs = [...this.lines].flatMap(([account, { waiting }]) =>
      [...waiting.keys()].map((subject) => ({ account, subject })),
    );
    for (const { waiting } of this.lines.values()) waiting.clear();
    return waitingJobs;
  }

  /** Resolves when all running jobs have ended. */
  async ended(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private startWaiting(line: Line): void {
    for (const [subject, work] of line.waiting) {
      if (line.running >= Math.min(this.limits.maxPerAccount, this.free)) return;
      line.waiting.delete(subject);
      this.start(line, work);
    }
  }

  private start(line: Line, work: () => Promise<void>): void {
    line.running += 1;
    this.free -= 1;
    const task = work().then(() => {
      line.running -= 1;
      this.free += 1;
      this.running.delete(task);
      this.fillFreeSlots();
    });
    this.running.add(task);
  }

  /** Gives the free slot to any account. Accounts with the fewest running jobs come first. */
  private fillFreeSlots(): void {
    for (const [account, line] of this.lines) {
      if (line.running === 0 && line.waiting.size === 0) this.lines.delete(account);
    }
    const waiting = [...this.lines.values()].filter((line) => line.waiting.size > 0);
    for (const line of waiting.sort((a, b) => a.running - b.running)) this.startWaiting(line);
  }
}
