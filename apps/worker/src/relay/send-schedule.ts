import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { AccountDirectory } from '#accounts';
import { type Logger, pause } from '#platform';
import { type RelayRounds, SCHEDULE_SLEEP_MS } from '#relay';

/** Not at once even where something is due still, which is another worker's just now. */
const SHORTEST_SLEEP_MS = 10;

/** Moves scheduled sends into their lanes when they are due: sleeps until the next one's time, in every worker. */
export class SendSchedule implements OnApplicationBootstrap, OnModuleDestroy {
  private stopping = false;
  private sleep = new AbortController();
  private running: Promise<void> = Promise.resolve();

  /** @param longestSleepMs so late a send may be that was scheduled for sooner than that, and of which nobody was told */
  constructor(
    private readonly rounds: Pick<RelayRounds, 'promote'>,
    private readonly accounts: AccountDirectory,
    private readonly logger: Logger,
    private readonly longestSleepMs = SCHEDULE_SLEEP_MS,
  ) {}

  onApplicationBootstrap(): void {
    this.running = this.run();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping = true;
    this.look();
    await this.running;
  }

  /** Looks again now for what is next: something may have been scheduled for sooner than all before. */
  look(): void {
    this.sleep.abort();
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      // What is scheduled while the accounts are gone through ends the sleep that has not begun yet.
      this.sleep = new AbortController();
      let sleepMs = this.longestSleepMs;
      try {
        for (const { id } of await this.accounts.list()) {
          sleepMs = Math.min(sleepMs, (await this.rounds.promote(id)) ?? sleepMs);
        }
      } catch (error) {
        this.logger.warn({ err: error }, 'scheduled sends could not be moved; trying again');
      }
      await pause(SHORTEST_SLEEP_MS);
      await pause(sleepMs - SHORTEST_SLEEP_MS, this.sleep.signal);
    }
  }
}
