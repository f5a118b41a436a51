import { accountKeys, LuaScript, type RedisClient } from '#platform';
import type { DeliveryRetention } from '../delivery/delivery-store.js';

const deliverySurveyScript = LuaScript.from(import.meta.url, 'lua/delivery-survey.lua');

/**
 * Times until the next tasks for an account's deliveries are due, in milliseconds. The time for a task is absent if
 * the task is not needed.
 */
export interface DeliveryDueTimes {
  /** Time until an endpoint must be checked, for example for due deliveries or expired leases. */
  deliveryCheckInMs?: number;
  /** Time until a finished delivery exceeds the retention limits and must be removed. */
  trimInMs?: number;
}

/** Reads the times at which the next tasks for an account's deliveries are due. Uses one fast Redis script. */
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
        webhooks: keys('webhooks'),
        agenda: keys('webhooks', 'agenda'),
        finished: keys('deliveries', 'finished'),
        olderAgenda: keys('webhooks', 'due'),
        latestTime: keys('webhooks', 'latest-time'),
      },
      { base: keys(''), maxAge: this.retention.maxAgeMs, maxCount: this.retention.maxCount },
    );
    const { overdue, trim } = reply as { overdue: string; trim: string };
    return {
      ...(overdue === '' ? {} : { deliveryCheckInMs: Number(overdue) }),
      ...(trim === '' ? {} : { trimInMs: Number(trim) }),
    };
  }
}
