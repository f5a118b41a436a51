import { accountKeys, LuaScript, type RedisClient } from '#platform';

const survey = LuaScript.from(import.meta.url, 'lua/feed-survey.lua');

/** The work that an account's polls have to do. */
export interface FeedSurvey {
  /** Time until the first contact is due, leases included, in milliseconds; absent if no contact is scheduled. */
  dueInMs?: number;
  /** Number of reads of the newest messages and reads of older messages that are due now. */
  due: number;
  /** True if a read of the contact list was requested, or the list was never read. */
  isListPollRequested: boolean;
}

/** Finds out with one cheap script which work an account's polls have to do. */
export class RedisFeedSurvey {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async read(account: string): Promise<FeedSurvey> {
    const keys = accountKeys(this.prefix, account);
    const reply = await survey.run(this.redis, {
      due: keys('polls', 'due'),
      list: keys('contact-list'),
      deep: keys('polls', 'deep'),
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
