import type { BackgroundTaskScheduler } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';

/** Names of the periodic tasks for deliveries. Each run of a task handles one account. */
export const DELIVERY_TASK_NAMES = {
  /** Wakes workers for endpoints with due deliveries, in case their wake-up jobs were lost. */
  reconcile: 'reconcile',
  /** Removes finished deliveries that exceed the retention limits. */
  trim: 'trim-deliveries',
} as const;

/**
 * Time between a wake-up job and a check for due deliveries, in milliseconds. The check finds deliveries whose wake-up
 * job was lost.
 */
export const DUE_DELIVERY_CHECK_DELAY_MS = 2_000;

/**
 * Wakes workers for endpoints. Also schedules a check for due deliveries a little later, in case the wake-up job is
 * lost or its worker dies.
 */
export class DeliveryJobsWithReconciliation implements DeliveryJobs {
  constructor(
    private readonly jobs: DeliveryJobs,
    private readonly scheduler: Pick<BackgroundTaskScheduler, 'announce'>,
  ) {}

  /**
   * Schedules only the check for due deliveries, without a wake-up job. Used if the calling process itself already
   * delivers to the endpoints.
   */
  checkLater(account: string, delayMs = 0): void {
    this.scheduler.announce(account, DELIVERY_TASK_NAMES.reconcile, delayMs + DUE_DELIVERY_CHECK_DELAY_MS);
  }

  async wake(account: string, endpointIds: readonly string[], delayMs = 0): Promise<void> {
    if (endpointIds.length > 0) this.checkLater(account, delayMs);
    await this.jobs.wake(account, endpointIds, delayMs);
  }

  async remind(account: string, endpointIds: readonly string[]): Promise<void> {
    if (endpointIds.length > 0) this.checkLater(account);
    await this.jobs.remind(account, endpointIds);
  }
}
