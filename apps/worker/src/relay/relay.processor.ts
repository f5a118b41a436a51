import { Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Inject, type OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import { AccountNotFoundError } from '#accounts';
import type { Logger, QueuePayloads } from '#platform';
import type { LaneRunner, RelayJobs } from '#relay';
import { AccountSlots } from '../account-slots.js';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { LANE_RUNNER, LOGGER, RELAY_JOBS } from '../tokens.js';
import { SendSchedule } from './send-schedule.js';

/**
 * Limits of the lanes that run at the same time in one worker. With a slow upstream, a lane can last as long
 * as the POST timeout.
 */
const LANE_LIMITS = { slots: 256, maxPerAccount: 32, maxWaiting: 5_000 };

/** Relays the due sends of a lane. A job ends when its lane has started or waits for a slot. */
@Processor('relay', { concurrency: 32, stalledInterval: STALLED_INTERVAL_MS })
export class RelayProcessor extends QueueProcessor implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly slots = new AccountSlots(LANE_LIMITS);

  constructor(
    @Inject(LANE_RUNNER) private readonly lanes: Pick<LaneRunner, 'run' | 'stop'>,
    @Inject(SendSchedule) private readonly schedule: Pick<SendSchedule, 'look'>,
    @Inject(RELAY_JOBS) private readonly jobs: RelayJobs,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  /** Stops taking lanes. Hands the waiting lanes to other workers at once. */
  async onModuleDestroy(): Promise<void> {
    this.lanes.stop();
    await this.worker.pause(true);
    const lanes = new Map<string, string[]>();
    for (const { account, subject: lane } of this.slots.close()) {
      lanes.set(account, [...(lanes.get(account) ?? []), lane]);
    }
    for (const [account, waiting] of lanes) await this.jobs.wake(account, waiting);
  }

  /** Waits until each running lane has finished its current send. No role accepts work at this point. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.slots.ended();
  }

  override async process({ data }: Job<QueuePayloads['relay']>): Promise<void> {
    const { account, lane } = data;
    if (this.slots.offer(account, lane, () => this.run(account, lane))) return;
    if (this.slots.isClosed) await this.jobs.wake(account, [lane]);
    else this.logger.debug({ account }, 'dropped the hint for a lane; the next round repeats the hint');
  }

  private async run(account: string, lane: string): Promise<void> {
    try {
      // An empty lane means that its send is scheduled for later, or that the hint was superfluous.
      if (!(await this.lanes.run(account, lane))) this.schedule.look();
    } catch (error) {
      if (error instanceof AccountNotFoundError) return;
      this.logger.error({ account, err: error }, 'a lane failed; the next round continues it');
    }
  }
}
