import { accountKeys, type RedisClient, RedisScript } from '#platform';
import type { UpstreamHealth } from './upstream-health.js';

/** KEYS: upstream. ARGV: reason, or '' when it is well. Answers whether this changed anything. */
const note = new RedisScript(`
if ARGV[1] == '' then return redis.call('HDEL', KEYS[1], 'unavailableSince', 'reason') end
local time = redis.call('TIME')
local since = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('HSET', KEYS[1], 'reason', ARGV[1])
return redis.call('HSETNX', KEYS[1], 'unavailableSince', since)
`);

/** {@link UpstreamHealth} as the account's hash `upstream`. */
export class RedisUpstreamHealth implements UpstreamHealth {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async well(account: string): Promise<boolean> {
    return Number(await note.run(this.redis, [this.key(account)], [''])) > 0;
  }

  async down(account: string, reason: string): Promise<boolean> {
    return Number(await note.run(this.redis, [this.key(account)], [reason])) > 0;
  }

  async trouble(account: string): Promise<{ since: number; reason: string } | undefined> {
    const [since, reason] = await this.redis.hmget(this.key(account), 'unavailableSince', 'reason');
    return since == null ? undefined : { since: Number(since), reason: reason ?? '' };
  }

  private key(account: string): string {
    return accountKeys(this.prefix, account)('upstream');
  }
}
