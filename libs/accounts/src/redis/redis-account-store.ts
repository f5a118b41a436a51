import { type RedisClient, RedisScript, redisTime } from '#platform';
import { AccountConflictError } from '../account/account-conflict.js';
import {
  type AccountStore,
  MOST_ACCOUNTS,
  type RemovedAccount,
  type StoredAccount,
} from '../account/account-store.js';
import { registryKeys, type RegistryKeys } from './redis-account-keys.js';

/** KEYS: accounts, removed, version. ARGV: id, account. */
const add = new RedisScript(`
local accounts, removed, id = KEYS[1], KEYS[2], ARGV[1]
if redis.call('HEXISTS', accounts, id) == 1 then return 'taken' end
if redis.call('HEXISTS', removed, id) == 1 then return 'removing' end
if redis.call('HLEN', accounts) >= ${MOST_ACCOUNTS} then return 'full' end
redis.call('HSET', accounts, id, ARGV[2])
redis.call('INCR', KEYS[3])
return 'added'
`);

/** KEYS: accounts, version. ARGV: id, expected, replacement. Answers whether it was still the expected one. */
const replace = new RedisScript(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('INCR', KEYS[2])
return 1
`);

/** KEYS: accounts, removed, keys, the account's keys, version. ARGV: id. */
const remove = new RedisScript(`
local accounts, removed, keys, own, id = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]
if redis.call('HDEL', accounts, id) == 0 then return 0 end
redis.call('INCR', KEYS[5])
for _, key in ipairs(redis.call('SMEMBERS', own)) do redis.call('HDEL', keys, key) end
redis.call('DEL', own)
local time = redis.call('TIME')
redis.call('HSET', removed, id, string.format('{"removedAt":%d}', time[1] * 1000 + math.floor(time[2] / 1000)))
return 1
`);

/** KEYS: accounts, version. Earlier builds do not count changes: they are seen by the number of accounts, if at all. */
const stamp = new RedisScript(`
return (redis.call('GET', KEYS[2]) or '0') .. ' ' .. redis.call('HLEN', KEYS[1])
`);

/** KEYS: removed. ARGV: id, note. */
const forget = new RedisScript(`
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
`);

/** As the script of the removal writes it. */
function noteOf(removedAt: number): string {
  return JSON.stringify({ removedAt });
}

const REFUSALS: Readonly<Record<string, string>> = {
  taken: 'An account with this id already exists. Update that account, or use another id.',
  removing:
    'An account with this id was deleted, and its data is still being removed. Retry in a few minutes.',
  full: `The installation has reached its limit of ${MOST_ACCOUNTS} accounts. Delete one first.`,
};

/** {@link AccountStore} as one hash. */
export class RedisAccountStore implements AccountStore {
  private readonly keys: RegistryKeys;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
  ) {
    this.keys = registryKeys(prefix);
  }

  async list(): Promise<StoredAccount[]> {
    return (await this.redis.hvals(this.keys.accounts)).map(readAccount);
  }

  async stamp(): Promise<string> {
    return String(await stamp.run(this.redis, [this.keys.accounts, this.keys.version], []));
  }

  async find(id: string): Promise<StoredAccount | undefined> {
    const stored = await this.redis.hget(this.keys.accounts, id);
    return stored === null ? undefined : readAccount(stored);
  }

  async add(account: StoredAccount): Promise<void> {
    const { accounts, removed, version } = this.keys;
    const args = [account.id, JSON.stringify(account)];
    const outcome = await add.run(this.redis, [accounts, removed, version], args);
    if (outcome !== 'added') throw new AccountConflictError(REFUSALS[String(outcome)] ?? String(outcome));
  }

  async change(
    id: string,
    change: (before: StoredAccount) => StoredAccount,
  ): Promise<StoredAccount | undefined> {
    // Each round that fails means that somebody else changed the account: that ends.
    for (;;) {
      const expected = await this.redis.hget(this.keys.accounts, id);
      if (expected === null) return undefined;
      const after = change(readAccount(expected));
      const args = [id, expected, JSON.stringify(after)];
      if ((await replace.run(this.redis, [this.keys.accounts, this.keys.version], args)) === 1) return after;
    }
  }

  async remove(id: string): Promise<boolean> {
    const { accounts, removed, apiKeys, keysOf, version } = this.keys;
    return (await remove.run(this.redis, [accounts, removed, apiKeys, keysOf(id), version], [id])) === 1;
  }

  async removed(): Promise<RemovedAccount[]> {
    return Object.entries(await this.redis.hgetall(this.keys.removed)).map(([id, note]) => ({
      id,
      removedAt: (JSON.parse(note) as { removedAt: number }).removedAt,
    }));
  }

  async forget({ id, removedAt }: RemovedAccount): Promise<void> {
    await forget.run(this.redis, [this.keys.removed], [id, noteOf(removedAt)]);
  }

  /** By the clock by which accounts are removed, in ms since 1970. */
  now(): Promise<number> {
    return redisTime(this.redis, this.keys.removed);
  }
}

function readAccount(text: string): StoredAccount {
  return JSON.parse(text) as StoredAccount;
}
