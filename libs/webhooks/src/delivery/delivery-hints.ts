import type { AgendaHints } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';

/** The rounds of deliveries. */
export const DELIVERY_ROUND = {
  /** Endpoints that have something due may have lost their hints. */
  reconcile: 'reconcile',
  /** Finished deliveries are to be removed. */
  trim: 'trim-deliveries',
} as const;

/** An endpoint that has something due and whose hint was lost is woken after so long. */
export const RECONCILE_DELIVERIES_MS = 2_000;

/** {@link DeliveryJobs} that also see to it that a hint that is lost, or whose worker dies, is made good. */
export class ReconciledDeliveryJobs implements DeliveryJobs {
  constructor(
    private readonly jobs: DeliveryJobs,
    private readonly hints: Pick<AgendaHints, 'tell'>,
  ) {}

  async wake(account: string, endpointIds: readonly string[], delayMs = 0): Promise<void> {
    if (endpointIds.length > 0) {
      this.hints.tell(account, DELIVERY_ROUND.reconcile, delayMs + RECONCILE_DELIVERIES_MS);
    }
    await this.jobs.wake(account, endpointIds, delayMs);
  }
}
