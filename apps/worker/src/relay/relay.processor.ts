import { Processor } from '@nestjs/bullmq';
import { Inject, type OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import type { QueuePayloads } from '#platform';
import type { LaneRunner } from '#relay';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { LANE_RUNNER } from '../tokens.js';
import { SendSchedule } from './send-schedule.js';

/** Relays what is due in a lane. */
@Processor('relay', { concurrency: 32, stalledInterval: STALLED_INTERVAL_MS })
export class RelayProcessor extends QueueProcessor implements OnModuleDestroy {
  constructor(
    @Inject(LANE_RUNNER) private readonly lanes: Pick<LaneRunner, 'run' | 'stop'>,
    @Inject(SendSchedule) private readonly schedule: Pick<SendSchedule, 'look'>,
  ) {
    super();
  }

  /** Before the queue waits for its jobs: each then ends with the send that it is at. */
  onModuleDestroy(): void {
    this.lanes.stop();
  }

  override async process({ data }: Job<QueuePayloads['relay']>): Promise<void> {
    // A hint at a lane with nothing in it is that of a send scheduled for soon, or one too many.
    if (!(await this.lanes.run(data.account, data.lane))) this.schedule.look();
  }
}
