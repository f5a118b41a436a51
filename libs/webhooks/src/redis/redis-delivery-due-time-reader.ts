import { accountKeys, LuaScript, type RedisClient } from '#platform';
import type { DeliveryRetention } from '../delivery/delivery-store.js';

const deliverySurveyScript = LuaScript.from(import.meta.url, 'lua/delivery-survey.lua');

/**
 * When an account's deliveries next need work, in milliseconds from now: one field for each kind of work. A field is
 * absent if no work of its kind is needed.
 */
export interface DeliveryDueTimes {
  /** Time until the next check for due deliveries and expired leases. */
  deliveryCheckInMs?: number;
  /** Time until the first finished delivery exceeds the retention limits. */
  trimInMs?: number;
}

/** Reads when an account's deliveries next need work. Uses one fast Redis script. */
export class RedisDeliveryDueTimeReader {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly retention: DeliveryRetention,
  ) {}

  async read(account: string): Promise<DeliveryDueTimes> {
    const keys = accountKeys(this.prefix, account);
    const reply = await deliverySurveyScript.run(
      this.redis,
      {
        agenda: keys('webhooks', 'agenda'),
        finished: keys('deliveries', 'finished'),
        olderAgenda: keys('webhooks', 'due'),
      },
      { maxAge: this.retention.maxAgeMs, maxCount: this.retention.maxCount },
    );
    const { overdue, trim } = reply as { overdue: string; trim: string };
    return {
      ...(overdue === '' ? {} : { deliveryCheckInMs: Number(overdue) }),
      ...(trim === '' ? {} : { trimInMs: Number(trim) }),
    };
  }
}
