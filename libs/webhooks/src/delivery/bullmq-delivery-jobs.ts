import type { BullmqHintQueue, Hint, QueuePayloads } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';

/** Implements {@link DeliveryJobs} with a BullMQ queue. Each job wakes a worker for one endpoint. */
export class BullmqDeliveryJobs implements DeliveryJobs {
  constructor(private readonly hints: BullmqHintQueue<QueuePayloads['deliveries']>) {}

  async wake(account: string, endpointIds: readonly string[], delayMs = 0): Promise<void> {
    await this.hints.add(hintsOf(account, endpointIds), delayMs);
  }

  async remind(account: string, endpointIds: readonly string[]): Promise<void> {
    await this.hints.addRecurring(hintsOf(account, endpointIds));
  }
}

function hintsOf(account: string, endpointIds: readonly string[]): Hint<QueuePayloads['deliveries']>[] {
  return endpointIds.map((endpointId) => ({
    subject: `${account}\n${endpointId}`,
    payload: { account, endpointId },
  }));
}
