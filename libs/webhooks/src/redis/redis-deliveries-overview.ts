import { accountKeys, LuaScript, type RedisClient } from '#platform';
import type { DeliveriesOverview, DeliveriesOverviewReader } from '../delivery/deliveries-overview.js';
import { BACKLOG_LUA_CONSTANTS } from './backlog-constants.js';

/** Max number of failing endpoints that the summary lists. */
const MAX_FAILING = 20;

const deliveriesOverviewScript = LuaScript.from(import.meta.url, 'lua/deliveries-overview.lua', {
  MAX_FAILING,
  ...BACKLOG_LUA_CONSTANTS,
});

type Counts = Record<
  | ('pending' | 'succeeded' | 'failed' | 'count' | 'disabled' | 'due')
  | ('oldestDueMs' | 'oldestWaitingMs' | 'disabledByFailure'),
  number
>;

/**
 * Reads the summary of deliveries from sorted sets that the delivery scripts update with each change of a delivery.
 */
export class RedisDeliveriesOverviewReader implements DeliveriesOverviewReader {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async overview(account: string): Promise<DeliveriesOverview> {
    const keys = accountKeys(this.prefix, account);
    const reply = (await deliveriesOverviewScript.run(
      this.redis,
      { webhooks: keys('webhooks') },
      { base: keys('') },
    )) as Counts & { failing: string[] };
    const { pending, succeeded, failed, count, disabled, due } = reply;
    const { oldestDueMs, oldestWaitingMs, disabledByFailure, failing } = reply;
    return {
      counts: { pending, succeeded, failed },
      endpoints: { count, disabled, disabledByFailure, due },
      failing: Array.from({ length: failing.length / 2 }, (_, i) => ({
        endpointId: failing[2 * i] ?? '',
        since: new Date(Number(failing[2 * i + 1])).toISOString(),
      })),
      oldestDueMs,
      oldestWaitingMs,
    };
  }
}
