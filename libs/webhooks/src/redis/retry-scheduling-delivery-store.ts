import type { BackgroundTaskScheduler, RedisClient } from '#platform';
import { DELIVERY_TASK_NAMES } from '../delivery/delivery-hints.js';
import type { ClaimedDelivery, SettlementResult, Settlement } from '../delivery/delivery-store.js';
import type { Attempt } from '../delivery/delivery.js';
import { RedisDeliveryStore } from './redis-delivery-store.js';
import type { Throttling } from '../delivery/retry-policy.js';

/** Store of deliveries that also schedules a check for due deliveries at the time of each retry. */
export class RetrySchedulingDeliveryStore extends RedisDeliveryStore {
  constructor(
    redis: RedisClient,
    prefix: string,
    private readonly hints: Pick<BackgroundTaskScheduler, 'announce'>,
  ) {
    super(redis, prefix);
  }

  override async settle(
    account: string,
    claimed: ClaimedDelivery,
    attempt: Attempt,
    settlement: Settlement,
    throttling?: Throttling,
  ): Promise<SettlementResult> {
    const settled = await super.settle(account, claimed, attempt, settlement, throttling);
    if (settlement.status === 'pending') {
      this.hints.announce(account, DELIVERY_TASK_NAMES.reconcile, settlement.waitMs);
    }
    return settled;
  }
}
