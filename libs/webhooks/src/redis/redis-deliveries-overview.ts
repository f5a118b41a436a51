import { accountKeys, LuaScript, type RedisClient } from '#platform';
import type { DeliveriesOverview, DeliveriesOverviewReader } from '../delivery/deliveries-overview.js';
import { MAX_DELIVERIES_PER_REFILL } from '../delivery/delivery-store.js';

const OVERVIEW = LuaScript.from(import.meta.url, 'lua/deliveries-overview.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});

/** Reads the summary of deliveries from sorted sets that the delivery scripts update with each change. */
export class RedisDeliveriesOverviewReader implements DeliveriesOverviewReader {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async overview(account: string): Promise<DeliveriesOverview> {
    const keys = accountKeys(this.prefix, account);
    const { pending, succeeded, failed, count, disabled, due, oldestDueMs } = (await OVERVIEW.run(
      this.redis,
      { webhooks: keys('webhooks') },
      { base: keys('') },
    )) as Record<'pending' | 'succeeded' | 'failed' | 'count' | 'disabled' | 'due' | 'oldestDueMs', number>;
    return {
      counts: { pending, succeeded, failed },
      endpoints: { count, disabled, due },
      oldestDueMs,
    };
  }
}
