import type { Logger } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';

/**
 * Wakes a worker for an endpoint whose deliveries were stored. If that fails, only logs the failure: the deliveries
 * stay due, and a periodic task wakes a worker later.
 */
export async function tryToWakeWorker(
  jobs: DeliveryJobs,
  logger: Logger,
  account: string,
  endpointId: string,
): Promise<void> {
  try {
    await jobs.wake(account, [endpointId]);
  } catch (error) {
    logger.warn(
      { account, endpointId, err: error },
      'could not wake up a worker for the deliveries of a webhook; a periodic task tries again',
    );
  }
}
