import type { BullmqHintQueue, Logger, QueuePayloads } from '#platform';
import type { RelayJobs } from './ports.js';

/** {@link RelayJobs} as hints of a BullMQ queue. */
export class BullmqRelayJobs implements RelayJobs {
  constructor(
    private readonly hints: BullmqHintQueue<QueuePayloads['relay']>,
    private readonly logger: Logger,
  ) {}

  async wake(account: string, lane: string, delayMs = 0): Promise<void> {
    try {
      await this.hints.add([{ about: `${account}\n${lane}`, payload: { account, lane } }], delayMs);
    } catch (error) {
      // The store knows that the lane is due; the reconciler wakes it.
      this.logger.warn({ account, err: error }, 'a lane could not be woken; the next round will');
    }
  }
}
