import type { RedisClient } from '#platform';
import { RedisSendList } from '#relay';
import { RedisDeliveriesOverviewReader } from '#webhooks';
import type { ReadBacklog } from './stats-recorder.js';

/**
 * Returns a function that reads how many sends and how many deliveries of an account are waiting. Each call runs
 * two Redis scripts.
 */
export function createBacklogReader(redis: RedisClient, prefix: string): ReadBacklog {
  const sends = new RedisSendList(redis, prefix);
  const deliveries = new RedisDeliveriesOverviewReader(redis, prefix);
  return async (account) => {
    const [{ counts }, overview] = await Promise.all([sends.overview(account), deliveries.overview(account)]);
    return { sends: counts.queued + counts.relaying, deliveries: overview.counts.pending };
  };
}
