import type { AgendaHints } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';

/** Names of the rounds that concern deliveries. */
export const DELIVERY_ROUND = {
  /** Wakes the endpoints that have due deliveries, in case their hints were lost. */
  reconcile: 'reconcile',
  /** Removes finished deliveries whose retention expired. */
  trim: 'trim-deliveries',
} as const;

/** Time from a hint to the reconciliation that replaces a lost hint, in milliseconds. */
export const RECONCILE_DELIVERIES_MS = 2_000;

/** {@link DeliveryJobs} that schedule a reconciliation with each hint, in case the hint is lost or its worker dies. */
export class ReconciledDeliveryJobs implements DeliveryJobs {
  constructor(
    private readonly jobs: DeliveryJobs,
    private readonly hints: Pick<AgendaHints, 'announce'>,
  ) {}

  async wake(account: string, endpointIds: readonly string[], delayMs = 0): Promise<void> {
    if (endpointIds.length > 0) {
      this.hints.announce(account, DELIVERY_ROUND.reconcile, delayMs + RECONCILE_DELIVERIES_MS);
    }
    await this.jobs.wake(account, endpointIds, delayMs);
  }
}
