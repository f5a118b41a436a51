import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { AccountDirectory } from '#accounts';
import { type Logger, pause } from '#platform';
import { type RelayRounds, SCHEDULE_SLEEP_MS } from '#relay';
import { SideBySide } from '../side-by-side.js';

/** Not at once even where something is due still, which is another worker's just now. */
const SHORTEST_SLEEP_MS = 10;

/** Moves scheduled sends into their lanes when they are due: sleeps until the next one's time, in every worker. */
export class SendSchedule implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly underWay = new SideBySide<number | undefined>();
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
    await this.underWay.ended();
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
        const accounts = await this.accounts.list();
        const nexts = await this.underWay.run(
          accounts.map(({ id }) => id),
          (account) => this.promote(account),
        );
        for (const next of nexts) sleepMs = Math.min(sleepMs, next ?? sleepMs);
      } catch (error) {
        this.logger.warn({ err: error }, 'the accounts could not be read; trying again');
      }
      await pause(SHORTEST_SLEEP_MS);
      await pause(sleepMs - SHORTEST_SLEEP_MS, this.sleep.signal);
    }
  }

  private async promote(account: string): Promise<number | undefined> {
    try {
      return await this.rounds.promote(account);
    } catch (error) {
      this.logger.warn({ account, err: error }, 'scheduled sends could not be moved; trying again');
      return undefined;
    }
  }
}
