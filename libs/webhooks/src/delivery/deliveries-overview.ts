import type { StoredDeliveryStatus } from './delivery.js';

/** Summary of an account's deliveries. */
export interface DeliveriesOverview {
  /**
   * Number of deliveries in each status, without deliveries of removed endpoints. `failed` includes missed deliveries.
   */
  counts: Record<StoredDeliveryStatus, number>;
  endpoints: {
    count: number;
    disabled: number;
    /**
     * Number of the disabled endpoints that Tidings disabled, because their deliveries failed for too long or because
     * the receiver answered 410.
     */
    disabledByFailure: number;
    /** Number of endpoints with at least one due delivery. */
    due: number;
  };
  /**
   * The enabled endpoints whose last attempt failed, earliest `since` first. If there are more than 20, only the
   * first 20 are included. `since`: time of the first failure after the last success, by Redis' clock, as an
   * ISO 8601 time.
   */
  failing: { endpointId: string; since: string }[];
  /**
   * Time since a delivery could be attempted, in milliseconds: since it became due, or since the rate limit or pause of
   * its endpoint allows a request, whichever is later. The longest such time over all endpoints; 0 if no delivery can be
   * attempted now.
   */
  oldestDueMs: number;
  /**
   * Age of the oldest event that has no delivery to an enabled endpoint yet because the endpoint's backlog is full, in
   * milliseconds. 0 if no event waits.
   */
  oldestWaitingMs: number;
}

/** Reads the summary of an account's deliveries. */
export interface DeliveriesOverviewReader {
  /** Returns the summary of an account's deliveries. */
  overview(account: string): Promise<DeliveriesOverview>;
}
