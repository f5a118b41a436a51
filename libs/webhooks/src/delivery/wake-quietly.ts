import type { Logger } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';

/** Wakes an endpoint for stored deliveries. Only logs a failure, because the reconciler replaces a lost hint. */
export async function wakeQuietly(
  jobs: DeliveryJobs,
  logger: Logger,
  account: string,
  endpointId: string,
): Promise<void> {
  try {
    await jobs.wake(account, [endpointId]);
  } catch (error) {
    logger.warn({ account, endpointId, err: error }, 'delivery.hint_lost');
  }
}
