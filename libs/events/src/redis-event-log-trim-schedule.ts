import { accountKeys, LuaScript, type RedisClient } from '#platform';
import type { EventRetention } from './event-log.js';
import { eventLogRedisKeys } from './redis-append.js';

const eventLogSurveyScript = LuaScript.from(import.meta.url, 'lua/survey-log.lua');

/**
 * Determines, with one cheap script, when an account's log will contain an event that exceeds the retention limits.
 */
export class RedisEventLogTrimSchedule {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly retention: EventRetention,
  ) {}

  /**
   * Returns the time until the oldest event of the log exceeds the retention limits, in milliseconds: 0 if it already
   * exceeds them; undefined for an empty log. (If the event is not yet dispatched, it is removed later.)
   */
  async trimInMs(account: string): Promise<number | undefined> {
    const { log } = eventLogRedisKeys(accountKeys(this.prefix, account));
    const reply = await eventLogSurveyScript.run(
      this.redis,
      { log },
      { maxAge: this.retention.maxAgeMs, maxCount: this.retention.maxCount },
    );
    return reply === '' ? undefined : Number(reply);
  }
}
