import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { AccountDirectory } from '#accounts';
import { type Logger, pause } from '#platform';
import type { RelayRounds } from '#relay';

/** A send that is scheduled meanwhile, for sooner than the next one known of, is noticed within this. */
const LONGEST_SLEEP_MS = 250;
/** Not at once even where something is due still, which is another worker's just now. */
const SHORTEST_SLEEP_MS = 10;

/** Moves scheduled sends into their lanes when they are due: sleeps until the next one's time, in every worker. */
export class SendSchedule implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly rounds: Pick<RelayRounds, 'promote'>,
    private readonly accounts: AccountDirectory,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.running = this.run();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      let sleepMs = LONGEST_SLEEP_MS;
      try {
        for (const { id } of await this.accounts.list()) {
          sleepMs = Math.min(sleepMs, (await this.rounds.promote(id)) ?? sleepMs);
        }
      } catch (error) {
        this.logger.warn({ err: error }, 'scheduled sends could not be moved; trying again');
      }
      await pause(Math.max(sleepMs, SHORTEST_SLEEP_MS), signal);
    }
  }
}
