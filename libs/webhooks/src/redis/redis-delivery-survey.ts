import { accountKeys, type RedisClient, RedisScript } from '#platform';
import type { DeliveryRetention } from '../delivery/delivery-store.js';

/**
 * KEYS: endpoints by when they must be looked at, finished deliveries, endpoints by when older builds must look at them. ARGV: how long those are kept in ms, how many.
 * Answers in how many ms an endpoint must be looked at, and retention has something to remove, each '' where there is
 * nothing.
 */
const survey = new RedisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function first_of(set, keep)
  local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  return first and string.format('%d', math.max(first + keep - now, 0)) or ''
end
local trim = redis.call('ZCARD', KEYS[2]) > tonumber(ARGV[2]) and '0' or first_of(KEYS[2], ARGV[1])
local overdue, older = first_of(KEYS[1], 0), first_of(KEYS[3], 0)
if overdue == '' or (older ~= '' and tonumber(older) < tonumber(overdue)) then overdue = older end
return {overdue, trim}
`);

/** What an account's deliveries have due: in how many milliseconds, absent where there is nothing. */
export interface DeliverySurvey {
  /** An endpoint must be looked at: something is due, or a lease ends. */
  overdueInMs?: number;
  trimInMs?: number;
}

/** Says what an account's deliveries have due, by one cheap script. */
export class RedisDeliverySurvey {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly retention: DeliveryRetention,
  ) {}

  async look(account: string): Promise<DeliverySurvey> {
    const keys = accountKeys(this.prefix, account);
    const reply = await survey.run(
      this.redis,
      [keys('webhooks', 'agenda'), keys('deliveries', 'finished'), keys('webhooks', 'due')],
      [this.retention.maxAgeMs, this.retention.maxCount],
    );
    const [overdue, trim] = reply as [string, string];
    return {
      ...(overdue === '' ? {} : { overdueInMs: Number(overdue) }),
      ...(trim === '' ? {} : { trimInMs: Number(trim) }),
    };
  }
}
