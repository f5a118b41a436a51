import type { Queue } from 'bullmq';
import type { AccountDirectory } from '#accounts';
import type { Logger } from '#platform';

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

  constructor(
    private readonly queue: Queue,
    private readonly rounds: Rounds,
    private readonly accounts: AccountDirectory,
    private readonly logger: Logger,
  ) {
    queue.on('error', () => undefined);
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

  stop(): void {
    clearInterval(this.timer);
  }

  /** Runs one round for every account; one account's trouble is not another's. */
  async run(name: string): Promise<void> {
    const round = this.rounds[name];
    if (round === undefined) throw new Error(`there is no round ${name}`);
    for (const { id } of await this.accounts.list()) {
      try {
        await round.run(id);
      } catch (error) {
        this.logger.error({ account: id, round: name, err: error }, 'a round failed; it comes again');
      }
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
