import { Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Inject, type OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import { AccountGoneError } from '#accounts';
import type { Logger, QueuePayloads } from '#platform';
import type { LaneRunner, RelayJobs } from '#relay';
import { AccountSlots } from '../account-slots.js';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { LANE_RUNNER, LOGGER, RELAY_JOBS } from '../tokens.js';
import { SendSchedule } from './send-schedule.js';

/** Lanes under way in one worker; a slow upstream makes one last as long as a POST may. */
const SLOTS = { slots: 256, perAccount: 32, longestLine: 5_000 };

/** Relays what is due in a lane. A job ends when its lane has begun or waits for its account's turn. */
@Processor('relay', { concurrency: 32, stalledInterval: STALLED_INTERVAL_MS })
export class RelayProcessor extends QueueProcessor implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly slots = new AccountSlots(SLOTS);

  constructor(
    @Inject(LANE_RUNNER) private readonly lanes: Pick<LaneRunner, 'run' | 'stop'>,
    @Inject(SendSchedule) private readonly schedule: Pick<SendSchedule, 'look'>,
    @Inject(RELAY_JOBS) private readonly jobs: RelayJobs,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  /** Takes nothing more; what waits goes to other workers at once. */
  async onModuleDestroy(): Promise<void> {
    this.lanes.stop();
    await this.worker.pause(true);
    const lanes = new Map<string, string[]>();
    for (const { account, about } of this.slots.close()) {
      lanes.set(account, [...(lanes.get(account) ?? []), about]);
    }
    for (const [account, waiting] of lanes) await this.jobs.wake(account, waiting);
  }

  /** Each lane ends with the send that it is at; by now no role takes anything more. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.slots.ended();
  }

  override async process({ data }: Job<QueuePayloads['relay']>): Promise<void> {
    const { account, lane } = data;
    if (this.slots.offer(account, lane, () => this.run(account, lane))) return;
    if (this.slots.isClosed) await this.jobs.wake(account, [lane]);
    else this.logger.debug({ account }, 'a hint was dropped; the next round brings it again');
  }

  private async run(account: string, lane: string): Promise<void> {
    try {
      // A hint at a lane with nothing in it is that of a send scheduled for soon, or one too many.
      if (!(await this.lanes.run(account, lane))) this.schedule.look();
    } catch (error) {
      if (error instanceof AccountGoneError) return;
      this.logger.error({ account, err: error }, 'a lane broke; the next round takes it up');
    }
  }
}
