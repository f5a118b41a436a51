import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import { QueueProcessor } from './processor.js';
import type { RoundSchedule } from './rounds.js';

/** Runs the rounds of one role. */
export abstract class RoundsProcessor
  extends QueueProcessor
  implements OnApplicationBootstrap, OnModuleDestroy
{
  protected constructor(private readonly schedule: RoundSchedule) {
    super();
  }

  onApplicationBootstrap(): void {
    this.schedule.start();
  }

  onModuleDestroy(): Promise<void> {
    return this.schedule.stop();
  }

  override process(job: Job): Promise<void> {
    return this.schedule.run(job.name);
  }
}
