import { createHash } from 'node:crypto';
import type { BulkJobOptions, Queue } from 'bullmq';
import type { Clock, QueuePayloads } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';

type DeliveryJob = QueuePayloads['deliveries'];

/** Hints that fall due within the same stretch of so many milliseconds are one job, at the end of the stretch. */
const STRETCH_MS = 250;

/**
 * {@link DeliveryJobs} as BullMQ jobs. At most one job an endpoint waits to be run at once: a hint that finds one
 * waiting is that one, and a hint that finds one running is run after it, so that none is lost between that job's last
 * look and its end.
 */
export class BullmqDeliveryJobs implements DeliveryJobs {
  constructor(
    private readonly queue: Queue<DeliveryJob>,
    private readonly clock: Clock,
  ) {}

  async wake(account: string, endpointIds: readonly string[], delayMs = 0): Promise<void> {
    if (endpointIds.length === 0) return;
    await this.queue.addBulk(
      endpointIds.map((endpointId) => ({
        name: 'deliver',
        data: { account, endpointId },
        opts: {
          ...this.merge(laneOf(account, endpointId), delayMs),
          removeOnComplete: true,
          removeOnFail: true,
        },
      })),
    );
  }

  private merge(lane: string, delayMs: number): BulkJobOptions {
    if (delayMs <= 0) return { deduplication: { id: lane, keepLastIfActive: true } };
    const now = this.clock.now();
    const stretch = Math.ceil((now + delayMs) / STRETCH_MS);
    return { jobId: `${lane}-${stretch}`, delay: stretch * STRETCH_MS - now };
  }
}

/** Names an endpoint in job ids, where a colon, which an account's id may contain, is not possible. */
function laneOf(account: string, endpointId: string): string {
  return createHash('sha256').update(`${account}\n${endpointId}`).digest('hex').slice(0, 32);
}
