import { accountKeys, LuaScript, type RedisClient } from '#platform';
import type { DeliveryRetention } from '../delivery/delivery-store.js';

const survey = LuaScript.from(import.meta.url, 'lua/delivery-survey.lua');

/** Times until an account's deliveries next need work, in milliseconds. Absent if there is no such work. */
export interface DeliverySurvey {
  /** Time until an endpoint needs attention: a delivery is due, or a lease ends. */
  overdueInMs?: number;
  trimInMs?: number;
}

/** Finds out with one cheap script when an account's deliveries next need work. */
export class RedisDeliverySurvey {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly retention: DeliveryRetention,
  ) {}

  async read(account: string): Promise<DeliverySurvey> {
    const keys = accountKeys(this.prefix, account);
    const reply = await survey.run(
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
      ...(overdue === '' ? {} : { overdueInMs: Number(overdue) }),
      ...(trim === '' ? {} : { trimInMs: Number(trim) }),
    };
  }
}
