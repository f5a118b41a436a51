import { accountKeys, LuaScript, type RedisClient } from '#platform';
import type { DeliveriesOverview, DeliveriesOverviewReader } from '../delivery/deliveries-overview.js';
import { MAX_REFILLED } from '../delivery/delivery-store.js';

const OVERVIEW = LuaScript.from(import.meta.url, 'lua/deliveries-overview.lua', {
  MAX_REFILL: MAX_REFILLED,
});

/** Implements {@link DeliveriesOverviewReader} with the sets that the scripts of deliveries maintain. */
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
