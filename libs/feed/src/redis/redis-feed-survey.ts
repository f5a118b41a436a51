import { accountKeys, type RedisClient, RedisScript } from '#platform';

/** KEYS: due, list, deep. Answers in how many ms the first contact is due, or '', how many are due, and whether the list is wanted. */
const survey = new RedisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local first, due = nil, 0
for _, index in ipairs({KEYS[1], KEYS[3]}) do
  local at = tonumber(redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')[2])
  if at and (not first or at < first) then first = at end
  if at and at <= now then due = due + redis.call('ZCOUNT', index, '-inf', string.format('%d', now)) end
end
local list = redis.call('HMGET', KEYS[2], 'wished', 'listedAt')
local wanted = list[1] or not list[2]
return {first and string.format('%d', math.max(first - now, 0)) or '', due, wanted and 1 or 0}
`);

/** What an account's polls have to do. */
export interface FeedSurvey {
  /** In how many milliseconds the first contact is due, leases included; absent where none is scheduled. */
  dueInMs?: number;
  /** How many reads are due now, of heads and below them. */
  due: number;
  /** Whether the contact list was asked for, or was never read. */
  wantsList: boolean;
}

/** Says what an account's polls have to do, by one cheap script. */
export class RedisFeedSurvey {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async look(account: string): Promise<FeedSurvey> {
    const keys = accountKeys(this.prefix, account);
    const reply = await survey.run(
      this.redis,
      [keys('polls', 'due'), keys('contact-list'), keys('polls', 'deep')],
      [],
    );
    const [dueInMs, due, wanted] = reply as [string, number, number];
    return { ...(dueInMs === '' ? {} : { dueInMs: Number(dueInMs) }), due, wantsList: wanted === 1 };
  }
}
