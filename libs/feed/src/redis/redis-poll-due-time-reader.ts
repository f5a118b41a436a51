import { accountKeys, LuaScript, type RedisClient } from '#platform';
import { pollQueueRedisKeys } from './redis-poll-queue-keys.js';

const feedSurveyScript = LuaScript.from(import.meta.url, 'lua/feed-survey.lua');

/** How many reads of an account are due, whether the contact list must be read, and when the next contact is due. */
export interface PollDueTimes {
  /**
   * Time until the first contact is due, in milliseconds; 0 if a contact is already due. A claimed contact counts as
   * due at the end of its lease. Absent if no contact is scheduled.
   */
  dueInMs?: number;
  /** Number of reads that are due now. Reads of the newest messages and of older messages both count. */
  due: number;
  /** True if a read of the contact list was requested, or if the list was never read completely. */
  isListPollRequested: boolean;
}

/**
 * Reads the {@link PollDueTimes} of an account with a single cheap script. If Redis' clock was set back, the script
 * first moves the due times back accordingly, and ends all leases.
 */
export class RedisPollDueTimeReader {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async read(account: string): Promise<PollDueTimes> {
    const keys = accountKeys(this.prefix, account);
    const reply = await feedSurveyScript.run(this.redis, {
      list: keys('contact-list'),
      ...pollQueueRedisKeys(keys),
      latestTime: keys('polls', 'latest-time'),
    });
    const { dueInMs, due, isListPollRequested } = reply as {
      dueInMs: string;
      due: number;
      isListPollRequested: number;
    };
    return {
      ...(dueInMs === '' ? {} : { dueInMs: Number(dueInMs) }),
      due,
      isListPollRequested: isListPollRequested === 1,
    };
  }
}
