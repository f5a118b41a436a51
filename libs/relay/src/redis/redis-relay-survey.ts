import { accountKeys, LuaScript, type RedisClient } from '#platform';
import { sendIndex } from './redis-send-index.js';

const survey = LuaScript.from(import.meta.url, 'lua/relay-survey.lua');

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

  async read(account: string): Promise<RelaySurvey> {
    const keys = accountKeys(this.prefix, account);
    const reply = await survey.run(
      this.redis,
      {
        lanesDue: keys('lanes', 'due'),
        confirms: keys('confirms'),
        scheduled: keys('scheduled'),
        finished: keys('finished'),
        all: sendIndex.all(keys),
        expiring: keys('sends', 'expiring'),
        lanesSince: keys('lanes', 'since'),
        undecided: keys('sends', 'undecided'),
      },
      { keptMs: this.retention.maxAgeMs, maxCount: this.retention.maxCount, maxAge: this.maxAgeMs },
    );
    const { lanes, confirms, scheduled, trim, expires, aged, hasSends } = reply as Record<
      'lanes' | 'confirms' | 'scheduled' | 'trim' | 'expires' | 'aged',
      string
    > & { hasSends: number };
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
