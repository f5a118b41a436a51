import { accountKeys, LuaScript, type RedisClient } from '#platform';
import { sendIndexRedisKeys } from './redis-send-index.js';

const relaySurveyScript = LuaScript.from(import.meta.url, 'lua/relay-survey.lua');

/**
 * Times until the next work on an account's sends, in milliseconds. The time for a kind of work is absent if no such
 * work is pending.
 */
export interface RelayDueTimes {
  /** Time until the first lane (a recipient's queue) is due. */
  lanesInMs?: number;
  /** Time until the next check of any accepted send is due. */
  confirmsInMs?: number;
  /** Time until the first scheduled send is due. */
  scheduledInMs?: number;
  /** Time until the first send must be removed because of the retention limits. */
  trimInMs?: number;
  /** Time until the first queued send expires. */
  expiryInMs?: number;
  hasSends: boolean;
}

/** Reads the {@link RelayDueTimes} of an account, with one fast Redis script. */
export class RedisRelayDueTimeReader {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    /**
     * `maxAgeMs`: maximum age of a finished send, in milliseconds. `maxCount`: maximum number of finished, accepted
     * and unknown sends together.
     */
    private readonly retention: { maxAgeMs: number; maxCount: number },
    /** Maximum time that a send may wait in its lane, in milliseconds. */
    private readonly maxAgeMs: number,
  ) {}

  /**
   * Returns the due times. If this call is the first to notice a restart of Redis, it also stores the current time as
   * the time of the restart (see `LaneHead.redisRestartedAt`). If Redis' clock was set back, first brings forward the
   * due times of lanes, of checks of accepted sends and of the next probe.
   */
  async read(account: string): Promise<RelayDueTimes> {
    const keys = accountKeys(this.prefix, account);
    const reply = await relaySurveyScript.run(
      this.redis,
      {
        lanesDue: keys('lanes', 'due'),
        confirms: keys('confirms'),
        scheduled: keys('scheduled'),
        finished: keys('finished'),
        all: sendIndexRedisKeys.all(keys),
        expiring: keys('sends', 'expiring'),
        lanesSince: keys('lanes', 'since'),
        undecided: keys('sends', 'undecided'),
        knownRun: keys('relay', 'life'),
        upstream: keys('upstream'),
        latestTime: keys('relay', 'latest-time'),
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
      ...(ends.length === 0 ? {} : { expiryInMs: Math.min(...ends) }),
      hasSends: hasSends === 1,
    };
  }
}
