import type { Queue } from 'bullmq';
import { AccountGoneError, type AccountDirectory } from '#accounts';
import type { Logger } from '#platform';
import { SideBySide } from './side-by-side.js';

/** Work that comes again and again, for each account. Running it twice at once does no harm. */
export interface Round {
  everyMs: number;
  run(account: string): Promise<void>;
}

/** The rounds of one role by name. */
export type Rounds = Readonly<Record<string, Round>>;

/** How often it is seen to that the schedules are there: an emptied Redis loses them. */
const ENSURE_EVERY_MS = 10_000;
/** A round that is so much overdue lost its next job: it is scheduled anew. */
const STUCK_AFTER_MS = 10_000;

/**
 * Keeps the schedules of one role in Redis, where all workers of the role share them, and runs a round when its job
 * comes up.
 */
export class RoundSchedule {
  private timer: NodeJS.Timeout | undefined;
  private stopping = false;
  private readonly underWay: ReadonlyMap<string, SideBySide>;

  constructor(
    private readonly queue: Pick<Queue, 'on' | 'getJobScheduler' | 'upsertJobScheduler'>,
    private readonly rounds: Rounds,
    private readonly accounts: AccountDirectory,
    private readonly logger: Logger,
  ) {
    queue.on('error', () => undefined);
    this.underWay = new Map(Object.keys(rounds).map((name) => [name, new SideBySide()]));
  }

  start(): void {
    const ensure = (): void => {
      this.ensure().catch((error: unknown) => {
        this.logger.warn({ err: error }, 'the rounds could not be scheduled; trying again');
      });
    };
    ensure();
    this.timer = setInterval(ensure, ENSURE_EVERY_MS);
  }

  /** Begins no round any more; resolves when those that are under way have ended. */
  async stop(): Promise<void> {
    this.stopping = true;
    clearInterval(this.timer);
    await Promise.all([...this.underWay.values()].map((accounts) => accounts.ended()));
  }

  /**
   * Runs one round for every account; one account's trouble is not another's. An account whose round takes long is not
   * waited for, and left out until it has ended.
   */
  async run(name: string): Promise<void> {
    const [round, underWay] = [this.rounds[name], this.underWay.get(name)];
    if (round === undefined || underWay === undefined) throw new Error(`there is no round ${name}`);
    if (this.stopping) return;
    const accounts = await this.accounts.list();
    await underWay.run(
      accounts.map(({ id }) => id),
      (account) => this.runOne(name, round, account),
    );
  }

  private async runOne(name: string, round: Round, account: string): Promise<void> {
    // It may have waited for its place while the process was told to stop.
    if (this.stopping) return;
    try {
      await round.run(account);
    } catch (error) {
      if (error instanceof AccountGoneError) return;
      this.logger.error({ account, round: name, err: error }, 'a round failed; it comes again');
    }
  }

  private async ensure(): Promise<void> {
    for (const [name, { everyMs }] of Object.entries(this.rounds)) {
      const scheduled = await this.queue.getJobScheduler(name);
      if (scheduled?.every === everyMs && !isStuck(scheduled.next, everyMs)) continue;
      await this.queue.upsertJobScheduler(
        name,
        { every: everyMs },
        { name, data: {}, opts: { removeOnComplete: true, removeOnFail: true } },
      );
    }
  }
}

function isStuck(next: number | undefined, everyMs: number): boolean {
  return (next ?? 0) < Date.now() - Math.max(2 * everyMs, STUCK_AFTER_MS);
}
