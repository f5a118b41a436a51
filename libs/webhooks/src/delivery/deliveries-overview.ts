import type { DeliveryStatus } from './delivery.js';

/** How an account's deliveries stand. */
export interface DeliveriesOverview {
  /** Of the endpoints that exist, as far as they are kept. */
  counts: Record<DeliveryStatus, number>;
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
