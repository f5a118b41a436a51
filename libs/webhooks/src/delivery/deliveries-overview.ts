import type { StoredDeliveryStatus } from './delivery.js';

/** How an account's deliveries stand. */
export interface DeliveriesOverview {
  /** The deliveries of the endpoints that exist, by status; `failed` includes missed deliveries. */
  counts: Record<StoredDeliveryStatus, number>;
  endpoints: {
    count: number;
    disabled: number;
    /** Those that have something due now, whatever keeps it waiting. */
    due: number;
  };
  /** For how long the first of the deliveries that are due has waited, in milliseconds. */
  oldestDueMs: number;
}

/** Looks at all deliveries of an account at once. */
export interface DeliveriesWatch {
  overview(account: string): Promise<DeliveriesOverview>;
}
