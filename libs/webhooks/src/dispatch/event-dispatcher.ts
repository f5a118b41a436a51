import type { LoggedEvent, ReaderLease } from '#events';
import type { Logger } from '#platform';
import type { DeliveryRunner } from '../attempt/delivery-runner.js';
import type { DeliveryJobsWithReconciliation } from '../delivery/delivery-jobs-with-reconciliation.js';
import type { DeliveryJobs } from '../delivery/delivery-jobs.js';
import type { DeliveryStore } from '../delivery/delivery-store.js';
import type { RecentEventCache } from '../delivery/recent-event-cache.js';
import { tryToWakeWorker } from '../delivery/wake-worker.js';
import { EndpointIndexCache } from '../endpoint/endpoint-index-cache.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';

/**
 * Max number of events for which one call of `dispatch` starts the deliveries in this process. If a call has more
 * events, wake-up jobs are queued instead, so that all processes share the deliveries.
 */
const MAX_EVENTS_BEGUN_HERE = 20;

/** Starts deliveries in this process, which is faster and cheaper than a wake-up job for another process. */
export interface LocalDeliveryStarter {
  runner: Pick<DeliveryRunner, 'tryWork'>;
  /**
   * Schedules a check for due deliveries, in case this process ends before it has attempted the deliveries that it
   * started.
   */
  recovery: Pick<DeliveryJobsWithReconciliation, 'checkLater'>;
}

/** Creates a delivery of each event for each endpoint whose filter matches the event. */
export class EventDispatcher {
  private readonly indexes: EndpointIndexCache;

  constructor(
    endpoints: Pick<EndpointStore, 'list' | 'revision'>,
    private readonly deliveries: Pick<DeliveryStore, 'create'>,
    private readonly jobs: DeliveryJobs,
    private readonly logger: Logger,
    private readonly recent?: Pick<RecentEventCache, 'add'>,
    private readonly own?: LocalDeliveryStarter,
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
    const waiting = new Set(deliveries.map(({ endpointId }) => endpointId).filter((id) => enabled.has(id)));
    if (events.length <= MAX_EVENTS_BEGUN_HERE && this.own?.runner.tryWork(account, waiting) === true) {
      this.own.recovery.checkLater(account);
    } else {
      await tryToWakeWorker(this.jobs, this.logger, account, [...waiting]);
    }
  }
}
