import { type RedisClient, RedisScript } from '#platform';
import { AccountConflictError } from '../account/account-conflict.js';
import { registryKeys, type RegistryKeys } from './redis-account-keys.js';
import {
  type ApiKeyStore,
  MOST_KEYS,
  MOST_KEYS_OF_ACCOUNT,
  type StoredApiKey,
} from '../api-key/stored-api-key.js';

/** KEYS: accounts, keys, the account's keys. ARGV: key's id, key, account, whether the account is a fixed one. */
const add = new RedisScript(`
local accounts, keys, own, id, key, account = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[3]
if ARGV[4] ~= '1' and redis.call('HEXISTS', accounts, account) == 0 then return 'nobody' end
if redis.call('SCARD', own) >= ${MOST_KEYS_OF_ACCOUNT} then return 'full' end
if redis.call('HLEN', keys) >= ${MOST_KEYS} then return 'all-full' end
redis.call('HSET', keys, id, key)
redis.call('SADD', own, id)
return 'added'
`);

/** KEYS: keys, the account's keys. ARGV: id. */
const remove = new RedisScript(`
redis.call('SREM', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1])
`);

/** KEYS: keys. ARGV: id. */
const findNow = new RedisScript(`
local key = redis.call('HGET', KEYS[1], ARGV[1])
if not key then return false end
local time = redis.call('TIME')
return {key, time[1] * 1000 + math.floor(time[2] / 1000)}
`);

/** KEYS: keys, the account's keys. */
const listOf = new RedisScript(`
local ids = redis.call('SMEMBERS', KEYS[2])
if #ids == 0 then return {} end
return redis.call('HMGET', KEYS[1], unpack(ids))
`);

const REFUSALS: Readonly<Record<string, string>> = {
  full: `The account has reached its limit of ${MOST_KEYS_OF_ACCOUNT} API keys. Delete one first.`,
  'all-full': `The installation has reached its limit of ${MOST_KEYS} API keys. Delete one first.`,
};

/** {@link ApiKeyStore} as one hash, and a set of ids an account. */
export class RedisApiKeyStore implements ApiKeyStore {
  private readonly keys: RegistryKeys;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
  ) {
    this.keys = registryKeys(prefix);
  }

  async list(account?: string): Promise<StoredApiKey[]> {
    const { apiKeys, keysOf } = this.keys;
    const stored =
      account === undefined
        ? await this.redis.hvals(apiKeys)
        : ((await listOf.run(this.redis, [apiKeys, keysOf(account)], [])) as (string | null)[]);
    return stored.flatMap((text) => (text === null ? [] : [readKey(text)]));
  }

  async find(id: string): Promise<StoredApiKey | undefined> {
    const stored = await this.redis.hget(this.keys.apiKeys, id);
    return stored === null ? undefined : readKey(stored);
  }

  async findNow(id: string): Promise<{ key: StoredApiKey; now: number } | undefined> {
    const found = (await findNow.run(this.redis, [this.keys.apiKeys], [id])) as [string, number] | null;
    return found === null ? undefined : { key: readKey(found[0]), now: found[1] };
  }

  async add(key: StoredApiKey, isFixed: boolean): Promise<boolean> {
    const { accounts, apiKeys, keysOf } = this.keys;
    const outcome = await add.run(
      this.redis,
      [accounts, apiKeys, keysOf(key.account)],
      [key.id, JSON.stringify(key), key.account, isFixed ? 1 : 0],
    );
    if (outcome === 'added') return true;
    if (outcome === 'nobody') return false;
    throw new AccountConflictError(REFUSALS[String(outcome)] ?? String(outcome));
  }

  async remove(id: string): Promise<boolean> {
    // Whose it is never changes: it is part of what is found under the id.
    const key = await this.find(id);
    if (key === undefined) return false;
    const { apiKeys, keysOf } = this.keys;
    return (await remove.run(this.redis, [apiKeys, keysOf(key.account)], [id])) === 1;
  }
}

function readKey(text: string): StoredApiKey {
  return JSON.parse(text) as StoredApiKey;
}
