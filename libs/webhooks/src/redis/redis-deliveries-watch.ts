import { accountKeys, type RedisClient } from '#platform';
import type { DeliveriesOverview, DeliveriesWatch } from '../delivery/deliveries-overview.js';
import { deliveryScript } from './redis-delivery-common.js';

/**
 * ARGV: base. Answers how many deliveries are pending, succeeded and failed, how many endpoints there are, are disabled
 * and have something due, and for how many ms the first of that has been due.
 */
const OVERVIEW = deliveryScript(`
local pending, succeeded, failed, count, disabled, waiting, oldest = 0, 0, 0, 0, 0, 0, NOW
for _, endpoint in ipairs(redis.call('HKEYS', WEBHOOKS)) do
  pending = pending + redis.call('ZCARD', listed(endpoint, 'pending'))
  succeeded = succeeded + redis.call('ZCARD', listed(endpoint, 'succeeded'))
  failed = failed + redis.call('ZCARD', listed(endpoint, 'failed'))
  count = count + 1
  local _, record = endpoint_record(endpoint)
  if not record.enabled then disabled = disabled + 1 end
  local first = tonumber(redis.call('ZRANGE', due(endpoint), 0, 0, 'WITHSCORES')[2])
  if first and first <= NOW then
    waiting = waiting + 1
    oldest = math.min(oldest, first)
  end
end
return {pending, succeeded, failed, count, disabled, waiting, NOW - oldest}
`);

/** {@link DeliveriesWatch} on the sets that the scripts of deliveries keep. */
export class RedisDeliveriesWatch implements DeliveriesWatch {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async overview(account: string): Promise<DeliveriesOverview> {
    const keys = accountKeys(this.prefix, account);
    const reply = (await OVERVIEW.run(this.redis, [keys('webhooks')], [keys('')])) as number[];
    const [pending = 0, succeeded = 0, failed = 0, count = 0, disabled = 0, due = 0, oldestDueMs = 0] = reply;
    return {
      counts: { pending, succeeded, failed },
      endpoints: { count, disabled, due },
      oldestDueMs,
    };
  }
}
