import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { RoundSchedule } from './round-schedule.js';

/** Starts and stops the rounds of one role with the process. */
export abstract class RoundsLifecycle
  implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown
{
  private stopped: Promise<void> = Promise.resolve();

  protected constructor(private readonly schedule: RoundSchedule) {}

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
}
