import type { StoredDeliveryStatus } from './delivery.js';

/** Summary of an account's deliveries. */
export interface DeliveriesOverview {
  /** Number of deliveries of existing endpoints, by status. `failed` includes missed deliveries. */
  counts: Record<StoredDeliveryStatus, number>;
  endpoints: {
    count: number;
    disabled: number;
    /** Number of endpoints with at least one due delivery. */
    due: number;
  };
  /** Time for which the longest-waiting due delivery has been due, in milliseconds. */
  oldestDueMs: number;
}

/** Summarizes deliveries. */
export interface DeliveriesOverviewReader {
  /** Returns the summary of an account's deliveries. */
  overview(account: string): Promise<DeliveriesOverview>;
}
