import { type EventLog, isLogPositionBefore } from '#events';
import type { Logger } from '#platform';
import {
  type RefillRange,
  type DeliveryStore,
  MAX_DELIVERIES_PER_BACKLOG_REFILL,
} from '../delivery/delivery-store.js';
import { isEventForEndpoint } from '../endpoint/endpoint-index.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import {
  nextLogPosition,
  previousLogPosition,
  readEventsFromCursorOrOldest,
  timeOfLogPosition,
} from './log-window.js';

/**
 * Max number of pages of the event log that one call of {@link BacklogRefiller.refill} reads. The next call continues
 * after these pages.
 */
const MAX_PAGES = 10;
/**
 * Min number of events that are read from the event log at once, even if the backlog has room for fewer deliveries.
 * Most of the events may not match the endpoint's filter and need no delivery.
 */
const MIN_PAGE_SIZE = 20;

/**
 * Creates the deliveries that an endpoint did not get before, because too many of its deliveries were pending (a full
 * backlog). Keeps the order of the event log.
 */
export class BacklogRefiller {
  constructor(
    private readonly endpoints: Pick<EndpointStore, 'find'>,
    private readonly deliveries: Pick<DeliveryStore, 'readRefillRange' | 'refill'>,
    private readonly log: Pick<EventLog, 'read' | 'end'>,
    private readonly logger: Logger,
  ) {}

  /**
   * Creates the missing deliveries of the endpoint until it has the maximum number of pending deliveries, or until
   * {@link MAX_PAGES} pages of the event log were read. Concurrent calls neither duplicate nor skip a delivery.
   */
  async refill(account: string, endpointId: string): Promise<void> {
    const { epoch } = await this.log.end(account);
    let minPageSize = MIN_PAGE_SIZE;
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const range = await this.deliveries.readRefillRange(account, endpointId);
      if (range === undefined) return;
      const matching = await this.refillPage(account, endpointId, epoch, range, minPageSize);
      if (matching === undefined) return;
      // If no event of a page matches the endpoint's filter, larger pages find the next match with fewer requests.
      minPageSize = matching === 0 ? MAX_DELIVERIES_PER_BACKLOG_REFILL : MIN_PAGE_SIZE;
    }
  }

  /**
   * Creates the deliveries for the events of one page of the event log. Returns the number of events that match the
   * endpoint's filter, or undefined if no more deliveries can be created now.
   */
  private async refillPage(
    account: string,
    endpointId: string,
    epoch: string,
    { from, to, room }: RefillRange,
    minPageSize: number,
  ): Promise<number | undefined> {
    // Read the endpoint again for each page of the event log, because the endpoint's filter may change between two
    // pages.
    const endpoint = await this.endpoints.find(account, endpointId);
    if (endpoint === undefined) return undefined;
    const limit = Math.min(Math.max(room, minPageSize), MAX_DELIVERIES_PER_BACKLOG_REFILL);
    const { events, hasMore, isTruncated } = await readEventsFromCursorOrOldest(
      this.log,
      account,
      { epoch, position: previousLogPosition(from) },
      limit,
    );
    const here = events.filter(({ position }) => !isLogPositionBefore(to, position));
    const last = here.at(-1);
    // If the page contains an event after `to`, or the log ends with the page, all events up to `to` were read.
    const isRead = !hasMore || here.length < events.length;
    const next = last === undefined || isRead ? nextLogPosition(to) : nextLogPosition(last.position);
    const deliveries = here
      .filter((event) => isEventForEndpoint(endpoint, event))
      .map((event) => ({ endpointId, event }));
    const isRefilled = await this.deliveries.refill(account, endpointId, from, next, deliveries);
    if (!isRefilled) return undefined;
    if (isTruncated) this.warnOfLoss(account, endpointId, from, here[0]?.position ?? to);
    return deliveries.length;
  }

  /**
   * Logs that events were lost because the backlog was full. The list of deliveries does not show these events,
   * because no deliveries were created for them.
   */
  private warnOfLoss(account: string, endpointId: string, from: string, until: string): void {
    this.logger.warn(
      { account, endpointId, lostFrom: timeOfLogPosition(from), lostUntil: timeOfLogPosition(until) },
      'events were deleted from the event log while the backlog of a webhook was full; the webhook does not get the deleted events that match its filter',
    );
  }
}
