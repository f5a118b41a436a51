import type { Logger } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';

/**
 * Wakes workers for endpoints whose deliveries are stored, after `delayMs` milliseconds. If that fails, only logs the
 * failure: Redis records when a delivery is due, and a periodic task wakes a worker later.
 */
export async function tryToWakeWorker(
  jobs: DeliveryJobs,
  logger: Logger,
  account: string,
  endpointIds: readonly string[],
  delayMs = 0,
): Promise<void> {
  try {
    await jobs.wake(account, endpointIds, delayMs);
  } catch (error) {
    const [endpointId] = endpointIds;
    const endpoints = endpointIds.length === 1 ? { endpointId } : { endpoints: endpointIds.length };
    logger.warn(
      { account, ...endpoints, err: error },
      'could not wake up a worker for the deliveries of webhooks; a periodic task tries again',
    );
  }
}
