import { accountKeys, LuaScript, type RedisClient } from '#platform';

const survey = LuaScript.from(import.meta.url, 'lua/feed-survey.lua');

/** What an account's polls have to do. */
export interface FeedSurvey {
  /** In how many milliseconds the first contact is due, leases included; absent where none is scheduled. */
  dueInMs?: number;
  /** How many reads are due now, of heads and below them. */
  due: number;
  /** Whether the contact list was asked for, or was never read. */
  isListPollRequested: boolean;
}

/** Says what an account's polls have to do, by one cheap script. */
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
