import type { LoggedEvent, ReaderLease } from '#events';
import type { Logger } from '#platform';
import type { DeliveryJobs } from '../delivery/delivery-jobs.js';
import type { DeliveryStore } from '../delivery/delivery-store.js';
import type { RecentEvents } from '../delivery/recent-events.js';
import { EndpointIndexCache } from '../endpoint/endpoint-index-cache.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';

/** Creates a delivery of each event for each endpoint whose filter matches the event. */
export class EventDispatcher {
  private readonly indexes: EndpointIndexCache;

  constructor(
    endpoints: Pick<EndpointStore, 'list' | 'revision'>,
    private readonly deliveries: Pick<DeliveryStore, 'create'>,
    private readonly jobs: DeliveryJobs,
    private readonly logger: Logger,
    private readonly recent?: Pick<RecentEvents, 'add'>,
  ) {
    this.indexes = new EndpointIndexCache(endpoints);
  }

  /**
   * Stores the deliveries of the events. Afterwards, the caller may acknowledge the events. A repeated call with the
   * same events skips existing deliveries.
   * @param reader lease under which the events were read from the event log, if any
   * @throws {EventLogReaderLeaseLostError} if the lease belongs to another process
   */
  async dispatch(account: string, events: readonly LoggedEvent[], reader?: ReaderLease): Promise<void> {
    if (events.length === 0) return;
    const { index, enabled } = await this.indexes.get(account);
    const deliveries = events.flatMap((event) =>
      index.matching(event).map((endpointId) => ({ endpointId, event })),
    );
    if (deliveries.length === 0) return;
    const wanted = new Set(deliveries.map(({ event }) => event));
    this.recent?.add(account, [...wanted]);
    await this.deliveries.create(account, deliveries, reader);
    try {
      const waiting = new Set(deliveries.map(({ endpointId }) => endpointId));
      await this.jobs.wake(
        account,
        [...waiting].filter((id) => enabled.has(id)),
      );
    } catch (error) {
      // The deliveries are stored and due. A periodic task wakes workers for them later.
      this.logger.warn(
        { account, err: error },
        'could not wake up a worker for the deliveries of a webhook; a periodic task tries again',
      );
    }
  }
}
