import { createHash } from 'node:crypto';
import { accountKeys, type AccountKeys, type RedisClient, RedisScript } from '#platform';
import type { IdempotencyKeys, Taken } from '../send/idempotency-keys.js';
import type { IdempotencyKey } from '../send/send-intake.js';

/** How long a key has its send. */
export const IDEMPOTENCY_MS = 24 * 3_600_000;

/**
 * Lua: `recall(taken, fingerprint, owner)`, of what a key holds: `~` and the owner of a reservation, or the fingerprint of a
 * body and the id of its send. Answers 'busy', 'reused' or the id, or nil where a send may be stored under the key.
 */
export const IDEMPOTENCY = `
local function recall(taken, fingerprint, owner)
  if not taken then return owner ~= '' and 'busy' or nil end
  if string.sub(taken, 1, 1) == '~' then
    if taken == '~' .. owner then return nil end
    return 'busy'
  end
  local first, id = string.match(taken, '^(%w+) (.+)$')
  return first == fingerprint and id or 'reused'
end
`;

/** KEYS: idempotency. ARGV: fingerprint, owner or ''. Answers as the insertion of a send, or '' where that would store. */
const recallKey = new RedisScript(`${IDEMPOTENCY}
return recall(redis.call('GET', KEYS[1]), ARGV[1], ARGV[2]) or ''
`);

/** KEYS: idempotency. ARGV: owner, ms. Answers 0 if another has it. */
const reserveKey = new RedisScript(`
local taken = redis.call('GET', KEYS[1])
if not taken or taken == '~' .. ARGV[1] then
  redis.call('SET', KEYS[1], '~' .. ARGV[1], 'PX', ARGV[2])
  return 1
end
return string.sub(taken, 1, 1) == '~' and 0 or 1
`);

/** KEYS: idempotency. ARGV: owner. */
const releaseKey = new RedisScript(`
if redis.call('GET', KEYS[1]) == '~' .. ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`);

/** {@link IdempotencyKeys} on Redis: a string a key, which Redis forgets in time. */
export class RedisIdempotencyKeys implements IdempotencyKeys {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async reserve(account: string, key: string, owner: string, leaseMs: number): Promise<boolean> {
    return (await reserveKey.run(this.redis, [this.name(account, key)], [owner, leaseMs])) === 1;
  }

  async letGo(account: string, key: string, owner: string): Promise<void> {
    await releaseKey.run(this.redis, [this.name(account, key)], [owner]);
  }

  async recall(
    account: string,
    { key, fingerprint, owner = '' }: IdempotencyKey,
  ): Promise<Taken | undefined> {
    const reply = String(await recallKey.run(this.redis, [this.name(account, key)], [fingerprint, owner]));
    return reply === '' ? undefined : takenBy(reply);
  }

  private name(account: string, key: string): string {
    return idempotencyName(accountKeys(this.prefix, account), key);
  }
}

/** Keys of callers are hashed: any text may come, of any length. */
export function idempotencyName(keys: AccountKeys, key: string): string {
  return keys('idempotency', createHash('sha256').update(key).digest('hex'));
}

/** What the scripts say of a key that cannot have a new send. */
export function takenBy(reply: string): Taken {
  return reply === 'reused' || reply === 'busy' ? { kind: reply } : { kind: 'replay', id: reply };
}
