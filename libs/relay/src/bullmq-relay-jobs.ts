import { createHash } from 'node:crypto';
import type { Queue } from 'bullmq';
import type { Logger, QueuePayloads } from '#platform';
import type { RelayJobs } from './ports.js';

/** {@link RelayJobs} as BullMQ jobs, at most one a lane that is ready and one that waits. */
export class BullmqRelayJobs implements RelayJobs {
  constructor(
    private readonly queue: Queue<QueuePayloads['relay']>,
    private readonly logger: Logger,
  ) {}

  async wake(account: string, lane: string, delayMs = 0): Promise<void> {
    const delay = Math.max(Math.ceil(delayMs), 0);
    // Hashed: a job id may not hold every character, and phone numbers have no place in it.
    const id = createHash('sha256').update(`${account}\n${lane}`).digest('hex').slice(0, 32);
    try {
      await this.queue.add(
        'lane',
        { account, lane },
        {
          delay,
          deduplication: { id: `${id}-${delay === 0 ? 'now' : 'later'}`, keepLastIfActive: true },
          removeOnComplete: true,
          removeOnFail: true,
        },
      );
    } catch (error) {
      // The store knows that the lane is due; the reconciler wakes it.
      this.logger.warn({ account, err: error }, 'a lane could not be woken; the next round will');
    }
  }
}
