import type { BullmqHintQueue, QueuePayloads } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';

/** Implements {@link DeliveryJobs} with the hints of a BullMQ queue. */
export class BullmqDeliveryJobs implements DeliveryJobs {
  constructor(private readonly hints: BullmqHintQueue<QueuePayloads['deliveries']>) {}

  async wake(account: string, endpointIds: readonly string[], delayMs = 0): Promise<void> {
    await this.hints.add(
      endpointIds.map((endpointId) => ({
        subject: `${account}\n${endpointId}`,
        payload: { account, endpointId },
      })),
      delayMs,
    );
  }
}
