import type { BackgroundTaskScheduler, RedisClient } from '#platform';
import { DELIVERY_TASK_NAMES } from '../delivery/delivery-jobs-with-reconciliation.js';
import type { FinishedAttempt, SettlementResult } from '../delivery/delivery-store.js';
import type { RecentEventCache } from '../delivery/recent-event-cache.js';
import { RedisDeliveryStore } from './redis-delivery-store.js';

/** Store of deliveries that also schedules a check for due deliveries at the time of each retry. */
export class AgendaNotifyingDeliveryStore extends RedisDeliveryStore {
  constructor(
    redis: RedisClient,
    prefix: string,
    private readonly scheduler: Pick<BackgroundTaskScheduler, 'announce'>,
    recent?: RecentEventCache,
  ) {
    super(redis, prefix, recent);
  }

  override async settleAll(
    account: string,
    attempts: readonly FinishedAttempt[],
  ): Promise<SettlementResult[]> {
    const settled = await super.settleAll(account, attempts);
    for (const { settlement } of attempts) {
      if (settlement.status === 'pending') {
        this.scheduler.announce(account, DELIVERY_TASK_NAMES.reconcile, settlement.waitMs);
      }
    }
    return settled;
  }
}
