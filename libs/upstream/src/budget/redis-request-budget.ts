import { accountKeys, pause, type RedisClient, RedisScript } from '#platform';
import { TAKE_TOKEN } from './redis-token-bucket.js';
import {
  type AdaptiveBudget,
  BudgetExhaustedError,
  type BudgetUsage,
  MAX_PAUSE_MS,
  type RequestClass,
  type TokenReply,
} from './request-budget.js';

/** KEYS: bucket. ARGV: rate, class, tokens that go back first. Answers the wait, and whether it is shrunk. */
const take = new RedisScript(`${TAKE_TOKEN}
local wait, shrunk = take_token(KEYS[1], tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), false)
return {wait, shrunk}
`);

/** KEYS: bucket. ARGV: rate, number of tokens of polls that go back. */
const giveBack = new RedisScript(`${TAKE_TOKEN}
local b = token_bucket(KEYS[1], tonumber(ARGV[1]))
return_tokens(b, tonumber(ARGV[2]), true)
put_token_bucket(KEYS[1], b)
`);

/** KEYS: bucket. ARGV: rate. Answers what is allowed, used, used by others, and available for polls, as text. */
const readUsage = new RedisScript(`${TAKE_TOKEN}
local b = token_bucket(KEYS[1], tonumber(ARGV[1]))
return {tostring(1 / b.gap), tostring(tokens_per_second(b.all)), tostring(tokens_per_second(b.other)),
  tostring(available_for_polls(b))}
`);

/**
 * Half of what leaves now, never less than a sixteenth of the rate, and an empty bucket: what would leave at once would
 * be refused, too. KEYS: bucket. ARGV: rate, how long in ms further answers belong to the same burst.
 */
const shrink = new RedisScript(`
local bucket, rate = KEYS[1], tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local state = redis.call('HMGET', bucket, 'limit', 'shrunkAt')
if state[2] and now - state[2] < tonumber(ARGV[2]) then return 0 end
local limit = math.max(math.min(rate, tonumber(state[1] or rate)) / 2, rate / 16)
redis.call('HSET', bucket, 'limit', string.format('%.6f', limit), 'shrunkAt', string.format('%.3f', now),
  'tokens', 0, 'at', string.format('%.3f', now))
redis.call('PEXPIRE', bucket, math.max(60000, math.ceil(2000 / limit)))
return 1
`);

/** KEYS: bucket. ARGV: rate, share of it that is given back. Answers whether it is still shrunk. */
const grow = new RedisScript(`
local bucket, rate = KEYS[1], tonumber(ARGV[1])
local limit = redis.call('HGET', bucket, 'limit')
if not limit then return 0 end
limit = tonumber(limit) + rate * ARGV[2]
if limit >= rate then
  redis.call('HDEL', bucket, 'limit')
  return 0
end
redis.call('HSET', bucket, 'limit', string.format('%.6f', limit))
return 1
`);

/** Answers 429 within so long of the first are one burst: those requests left before the budget was shrunk. */
const BURST_MS = 1_000;
/** So large a share of the rate comes back with each good answer. */
const GROWTH = 1 / 50;

/** {@link RequestBudget} kept in Redis, so that it holds over all processes. */
export class RedisRequestBudget implements AdaptiveBudget {
  /** The accounts whose budget was shrunk when this process last asked. */
  private readonly shrunk = new Set<string>();

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async ask(account: string, rate: number, kind: RequestClass, unused = 0): Promise<TokenReply> {
    const askedAt = performance.now();
    const reply = await take.run(this.redis, [this.bucketOf(account)], [rate, kind, unused]);
    const [waitMs = 0, shrunk = 0] = reply as number[];
    if (shrunk === 1) this.shrunk.add(account);
    return { waitMs, askedAt };
  }

  async acquire(
    account: string,
    rate: number,
    kind: RequestClass,
    patienceMs: number,
    unused = 0,
  ): Promise<number> {
    const end = performance.now() + patienceMs;
    for (let returned = unused; ; returned = 0) {
      const { waitMs, askedAt } = await this.ask(account, rate, kind, returned);
      if (waitMs === 0) return askedAt;
      if (performance.now() + waitMs > end) throw new BudgetExhaustedError(waitMs);
      await pause(Math.min(waitMs, MAX_PAUSE_MS));
    }
  }

  async giveBack(account: string, rate: number): Promise<void> {
    await giveBack.run(this.redis, [this.bucketOf(account)], [rate, 1]);
  }

  /** How the budget is used, by all processes together. */
  async usage(account: string, rate: number): Promise<BudgetUsage> {
    const reply = await readUsage.run(this.redis, [this.bucketOf(account)], [rate]);
    const [allowed = 0, used = 0, usedByOthers = 0, availableForPolls = 0] = (reply as string[]).map(Number);
    return { allowed, used, usedByOthers, availableForPolls };
  }

  async tooMany(account: string, rate: number): Promise<void> {
    await shrink.run(this.redis, [this.bucketOf(account)], [rate, BURST_MS]);
    this.shrunk.add(account);
  }

  async fine(account: string, rate: number): Promise<void> {
    if (!this.shrunk.has(account)) return;
    const still = await grow.run(this.redis, [this.bucketOf(account)], [rate, GROWTH]);
    if (still === 0) this.shrunk.delete(account);
  }

  private bucketOf(account: string): string {
    return accountKeys(this.prefix, account)('budget');
  }
}
