import { accountKeys, type RedisClient, RedisScript } from '#platform';
import type { EventRetention } from './event-log.js';
import { logKeys } from './redis-append.js';

/** KEYS: log. ARGV: how long events are kept in ms, how many. Answers in how many ms the first may go, or ''. */
const survey = new RedisScript(`
local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
if not first then return '' end
if redis.call('XLEN', KEYS[1]) > tonumber(ARGV[2]) then return '0' end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return string.format('%d', math.max(tonumber(string.match(first[1], '^%d+')) + ARGV[1] - now, 0))
`);

/** Says when an account's log has something that retention lets go, by one cheap script. */
export class RedisLogSurvey {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly retention: EventRetention,
  ) {}

  /** In how many milliseconds; undefined for an empty log. */
  async trimInMs(account: string): Promise<number | undefined> {
    const [log] = logKeys(accountKeys(this.prefix, account));
    const reply = await survey.run(this.redis, [log], [this.retention.maxAgeMs, this.retention.maxCount]);
    return reply === '' ? undefined : Number(reply);
  }
}
