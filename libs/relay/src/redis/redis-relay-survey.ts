import { accountKeys, type RedisClient, RedisScript } from '#platform';
import { sendIndex } from './redis-send-index.js';

/**
 * KEYS: lanes due, confirms, scheduled, finished, all sends, expiring, lanes since, undecided. ARGV: how long finished sends are kept in ms,
 * how many of them, how long a send may be in a lane in ms. Answers in how many ms the first lane, sighting and scheduled send
 * are due, retention has something to remove, the first send expires, and the first one is in its lane for too long, each
 * '' where there is nothing; and whether there is any send.
 */
const survey = new RedisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function first_of(set, keep)
  local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  return first and string.format('%d', math.max(first + keep - now, 0)) or ''
end
local kept = redis.call('ZCARD', KEYS[4]) + redis.call('ZCARD', KEYS[8])
local trim = kept > tonumber(ARGV[2]) and '0' or first_of(KEYS[4], ARGV[1])
return {first_of(KEYS[1], 0), first_of(KEYS[2], 0), first_of(KEYS[3], 0), trim, first_of(KEYS[6], 0),
  first_of(KEYS[7], ARGV[3]), redis.call('EXISTS', KEYS[5])}
`);

/** What an account's sends have due: in how many milliseconds, absent where there is nothing. */
export interface RelaySurvey {
  lanesInMs?: number;
  confirmsInMs?: number;
  scheduledInMs?: number;
  trimInMs?: number;
  /** The end of the first send that is queued. */
  endInMs?: number;
  hasSends: boolean;
}

/** Says what an account's sends have due, by one cheap script. */
export class RedisRelaySurvey {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    /** Of finished sends. */
    private readonly retention: { maxAgeMs: number; maxCount: number },
    /** How long a send may wait in its lane, in milliseconds. */
    private readonly maxAgeMs: number,
  ) {}

  async look(account: string): Promise<RelaySurvey> {
    const keys = accountKeys(this.prefix, account);
    const reply = await survey.run(
      this.redis,
      [
        ...[keys('lanes', 'due'), keys('confirms'), keys('scheduled'), keys('finished'), sendIndex.all(keys)],
        ...[keys('sends', 'expiring'), keys('lanes', 'since'), keys('sends', 'undecided')],
      ],
      [this.retention.maxAgeMs, this.retention.maxCount, this.maxAgeMs],
    );
    const [lanes, confirms, scheduled, trim, ...rest] = reply as [
      string,
      string,
      string,
      string,
      ...unknown[],
    ];
    const [expires, aged, hasSends] = rest as [string, string, number];
    const ends = [expires, aged].filter((inMs) => inMs !== '').map(Number);
    return {
      ...(lanes === '' ? {} : { lanesInMs: Number(lanes) }),
      ...(confirms === '' ? {} : { confirmsInMs: Number(confirms) }),
      ...(scheduled === '' ? {} : { scheduledInMs: Number(scheduled) }),
      ...(trim === '' ? {} : { trimInMs: Number(trim) }),
      ...(ends.length === 0 ? {} : { endInMs: Math.min(...ends) }),
      hasSends: hasSends === 1,
    };
  }
}
