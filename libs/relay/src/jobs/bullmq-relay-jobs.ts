import type { BullmqHintQueue, Logger, QueuePayloads } from '#platform';
import type { RelayJobs } from '../ports.js';

/**
 * Implements {@link RelayJobs} with a BullMQ queue. Each job wakes a worker for one lane (a recipient's queue of
 * sends).
 */
export class BullmqRelayJobs implements RelayJobs {
  constructor(
    private readonly hints: BullmqHintQueue<QueuePayloads['relay']>,
    private readonly logger: Logger,
  ) {}

  async wake(account: string, lanes: readonly string[], delayMs = 0): Promise<void> {
    try {
      const hints = lanes.map((lane) => ({ subject: `${account}\n${lane}`, payload: { account, lane } }));
      await this.hints.add(hints, delayMs);
    } catch (error) {
      // No send is lost: Redis records which lanes are due, and the next reconcile task wakes them.
      this.logger.warn(
        { account, err: error },
        'could not queue wake-up jobs for recipients with due sends; a periodic task adds the jobs later',
      );
    }
  }
}
