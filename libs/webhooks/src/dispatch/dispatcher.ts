import type { LoggedEvent, ReaderLease } from '#events';
import type { Logger } from '#platform';
import type { DeliveryJobs } from '../delivery/delivery-jobs.js';
import type { DeliveryStore } from '../delivery/delivery-store.js';
import { EndpointIndexes } from '../endpoint/endpoint-indexes.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';

/** Makes a delivery of every event for every endpoint that asked for it. */
export class Dispatcher {
  private readonly indexes: EndpointIndexes;

  constructor(
    endpoints: Pick<EndpointStore, 'list' | 'revision'>,
    private readonly deliveries: Pick<DeliveryStore, 'create'>,
    private readonly jobs: DeliveryJobs,
    private readonly logger: Logger,
  ) {
    this.indexes = new EndpointIndexes(endpoints);
  }

  /**
   * Stores the deliveries of the events; once it resolves, the events may be acknowledged. Safe to be called again
   * with the same events: what exists is left alone.
   * @param reader who read them, and must still be the reader while they are stored
   * @throws {ReaderLeaseLostError}
   */
  async dispatch(account: string, events: readonly LoggedEvent[], reader?: ReaderLease): Promise<void> {
    if (events.length === 0) return;
    const { index, enabled } = await this.indexes.of(account);
    const deliveries = events.flatMap((event) =>
      index.wanting(event).map((endpointId) => ({ endpointId, event })),
    );
    if (deliveries.length === 0) return;
    await this.deliveries.create(account, deliveries, reader);
    try {
      const waiting = new Set(deliveries.map(({ endpointId }) => endpointId));
      await this.jobs.wake(
        account,
        [...waiting].filter((id) => enabled.has(id)),
      );
    } catch (error) {
      // The deliveries are stored: the reconciler finds them.
      this.logger.warn({ account, err: error }, 'delivery.hint_lost');
    }
  }
}
