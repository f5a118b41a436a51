import { Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Inject, type OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import { AccountNotFoundError } from '#accounts';
import type { Logger, QueuePayloads } from '#platform';
import type { LaneRunner, RelayJobs } from '#relay';
import { AccountSlots } from '../account-slots.js';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { RELAY } from '../tokens.js';
import type { SendSchedule } from './send-schedule.js';

/**
 * Limits of the lanes that run at the same time in one worker. With a slow upstream, a lane can last as long
 * as the POST timeout.
 */
const LANE_LIMITS = { slots: 256, maxPerAccount: 32, maxWaiting: 5_000 };

/** The part of the role that the processor uses. */
interface LaneWork {
  lanes: Pick<LaneRunner, 'run' | 'stop'>;
  sendSchedule: Pick<SendSchedule, 'readAgendaNow'>;
  jobs: RelayJobs;
  logger: Logger;
}

/** Relays the due sends of lanes. A job ends when each of its lanes has started or waits for a slot. */
@Processor('relay', { concurrency: 32, stalledInterval: STALLED_INTERVAL_MS })
export class RelayProcessor extends QueueProcessor implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly slots = new AccountSlots(LANE_LIMITS);

  constructor(@Inject(RELAY) private readonly role: LaneWork) {
    super();
  }

  /** Stops taking lanes. Hands the waiting lanes to other workers at once. */
  async onModuleDestroy(): Promise<void> {
    this.role.lanes.stop();
    await this.worker.pause(true);
    const lanes = new Map<string, string[]>();
    for (const { account, subject: lane } of this.slots.close()) {
      lanes.set(account, [...(lanes.get(account) ?? []), lane]);
    }
    for (const [account, waiting] of lanes) await this.role.jobs.wake(account, waiting);
  }

  /** Waits until each running lane has finished its current send. No role accepts work at this point. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.slots.ended();
  }

  override async process({ data }: Job<QueuePayloads['relay']>): Promise<void> {
    const { account, lane, more = [] } = data;
    const refused = [lane, ...more].filter(
      (each) => !this.slots.offer(account, each, () => this.run(account, each)),
    );
    if (refused.length === 0) return;
    if (this.slots.isClosed) await this.role.jobs.wake(account, refused);
    else
      this.role.logger.debug(
        { account, count: refused.length },
        'too many recipients with due sends already wait in this process, so it took no further recipients; a periodic task wakes a worker for them later',
      );
  }

  private async run(account: string, lane: string): Promise<void> {
    try {
      // If the lane is empty, its send may be scheduled for later, or the wake-up job was not needed.
      if (!(await this.role.lanes.run(account, lane))) this.role.sendSchedule.readAgendaNow();
    } catch (error) {
      if (error instanceof AccountNotFoundError) return;
      this.role.logger.error(
        { account, err: error },
        'could not relay the sends to a recipient; a periodic task will relay them',
      );
    }
  }
}
