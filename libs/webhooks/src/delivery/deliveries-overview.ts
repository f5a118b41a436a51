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
    /** Number of endpoints with at least one due delivery. */
    due: number;
  };
  /**
   * The enabled endpoints whose last attempt failed, longest failing first, at most 20. `since`: time of the first failure
   * since the last success, by Redis' clock, as an ISO 8601 time.
   */
  failing: { endpointId: string; since: string }[];
  /** How long the longest-waiting due delivery has been due, in milliseconds. */
  oldestDueMs: number;
}

/** Reads the summary of an account's deliveries. */
export interface DeliveriesOverviewReader {
  /** Returns the summary of an account's deliveries. */
  overview(account: string): Promise<DeliveriesOverview>;
}
