import { Processor } from '@nestjs/bullmq';
import { Inject, type OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import type { QueuePayloads } from '#platform';
import type { LaneRunner } from '#relay';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { LANE_RUNNER } from '../tokens.js';

/** Relays what is due in a lane. */
@Processor('relay', { concurrency: 32, stalledInterval: STALLED_INTERVAL_MS })
export class RelayProcessor extends QueueProcessor implements OnModuleDestroy {
  constructor(@Inject(LANE_RUNNER) private readonly lanes: LaneRunner) {
    super();
  }

  /** Before the queue waits for its jobs: each then ends with the send that it is at. */
  onModuleDestroy(): void {
    this.lanes.stop();
  }

  override process({ data }: Job<QueuePayloads['relay']>): Promise<void> {
    return this.lanes.run(data.account, data.lane);
  }
}
