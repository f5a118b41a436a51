import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { QueueProcessor } from './processor.js';
import type { RoundSchedule } from './rounds.js';

/** Runs the rounds of one role. */
export abstract class RoundsProcessor
  extends QueueProcessor
  implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown
{
  private stopped: Promise<void> = Promise.resolve();

  protected constructor(private readonly schedule: RoundSchedule) {
    super();
  }

  onApplicationBootstrap(): void {
    this.schedule.start();
  }

  /** Starts stopping without waiting, so that the other roles are stopped at the same time. */
  onModuleDestroy(): void {
    this.stopped = this.schedule.stop();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.stopped;
  }

  override process(): Promise<void> {
    return this.schedule.run();
  }
}
