import { accountKeys, LuaScript, type RedisClient } from '#platform';
import type { EventRetention } from './event-log.js';
import { eventLogRedisKeys } from './redis-append.js';

const eventLogSurveyScript = LuaScript.from(import.meta.url, 'lua/survey-log.lua');

/** Determines, with one cheap script, when retention can next remove an event from an account's log. */
export class RedisEventLogTrimSchedule {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly retention: EventRetention,
  ) {}

  /**
   * Returns the time until the oldest event of the log can be removed, in milliseconds; undefined for an
   * empty log.
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
