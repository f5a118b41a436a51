import { LuaScript, readRedisTime, type RedisClient } from '#platform';
import { AccountConflictError } from '../account/account-conflict-error.js';
import { crossAccountRedisKeys, type CrossAccountKeys } from './redis-account-keys.js';
import { removeTokensAndSessionsOfApiKey } from './redis-tokens-and-sessions.js';
import { ENVIRONMENT_API_KEY_ID } from '../api-key/api-key.js';
import {
  type ApiKeyStore,
  type ApiKeyUses,
  MAX_API_KEYS_OF_ALL_ACCOUNTS,
  MAX_API_KEYS_PER_ACCOUNT,
  type StoredApiKey,
} from '../api-key/stored-api-key.js';

const addApiKeyScript = LuaScript.from(import.meta.url, 'lua/add-api-key.lua');

const removeApiKeyScript = LuaScript.from(import.meta.url, 'lua/remove-api-key.lua');

const findApiKeyScript = LuaScript.from(import.meta.url, 'lua/find-api-key.lua');

const recordUsesScript = LuaScript.from(import.meta.url, 'lua/record-api-key-uses.lua');

const listApiKeysScript = LuaScript.from(import.meta.url, 'lua/list-api-keys.lua');

/** Maximum number of API keys that one call of the script {@link recordUsesScript} records as used. */
const RECORDED_AT_ONCE = 500;

/**
 * Maximum number of expired API keys that are removed to add a new one. More than one removal may be needed, because
 * another process that adds an API key may choose the same expired key.
 */
const MAX_REPLACED = 10;

/** Why an API key was not added because of a limit. */
const REFUSALS: Readonly<Record<string, string>> = {
  full: `The account has reached its limit of ${MAX_API_KEYS_PER_ACCOUNT} API keys. Delete one first.`,
  'all-full': `The installation has reached its limit of ${MAX_API_KEYS_OF_ALL_ACCOUNTS} API keys. Delete one first.`,
};

/**
 * Implements {@link ApiKeyStore} and {@link ApiKeyUses}. Stores all API keys in one Redis hash, the times at which
 * they were last used in another hash, and the ids of each account's API keys in a set.
 */
export class RedisApiKeyStore implements ApiKeyStore, ApiKeyUses {
  private readonly keys: CrossAccountKeys;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
  ) {
    this.keys = crossAccountRedisKeys(prefix);
  }

  async list(account?: string): Promise<StoredApiKey[]> {
    const { apiKeys, apiKeysOf } = this.keys;
    const stored =
      account === undefined
        ? await this.redis.hvals(apiKeys)
        : ((await listApiKeysScript.run(this.redis, { apiKeys, ownApiKeys: apiKeysOf(account) })) as (
            string | null
          )[]);
    return stored.flatMap((text) => (text === null ? [] : [readKey(text)]));
  }

  async find(id: string): Promise<StoredApiKey | undefined> {
    const stored = await this.redis.hget(this.keys.apiKeys, id);
    return stored === null ? undefined : readKey(stored);
  }

  async findWithTime(id: string): Promise<{ key: StoredApiKey; now: number } | undefined> {
    const found = (await findApiKeyScript.run(this.redis, { apiKeys: this.keys.apiKeys }, { id })) as {
      apiKey: string;
      now: number;
    } | null;
    return found === null ? undefined : { key: readKey(found.apiKey), now: found.now };
  }

  async add(key: StoredApiKey, isFixed: boolean): Promise<boolean> {
    let outcome = await this.tryAdd(key, isFixed);
    for (let replaced = 0; replaced < MAX_REPLACED && REFUSALS[outcome] !== undefined; replaced += 1) {
      if (!(await this.removeLongestExpired(outcome === 'full' ? key.account : undefined))) break;
      outcome = await this.tryAdd(key, isFixed);
    }
    if (outcome === 'added') return true;
    if (outcome === 'unknown') return false;
    throw new AccountConflictError(REFUSALS[outcome] ?? outcome);
  }

  private async tryAdd(key: StoredApiKey, isFixed: boolean): Promise<string> {
    const { accounts, apiKeys, apiKeysOf } = this.keys;
    const outcome = await addApiKeyScript.run(
      this.redis,
      { accounts, apiKeys, ownApiKeys: apiKeysOf(key.account) },
      {
        ...{ id: key.id, apiKey: JSON.stringify(key), account: key.account, isFixed: isFixed ? 1 : 0 },
        ...{ maxOfAccount: MAX_API_KEYS_PER_ACCOUNT, maxKeys: MAX_API_KEYS_OF_ALL_ACCOUNTS },
      },
    );
    return String(outcome);
  }

  /**
   * Removes the API key that expired first, of all API keys of the account; or of all accounts, if `account` is
   * undefined. Returns false if none of these API keys has expired.
   */
  private async removeLongestExpired(account: string | undefined): Promise<boolean> {
    const now = await readRedisTime(this.redis, this.keys.apiKeys);
    const endOf = ({ expiresAt }: StoredApiKey): number =>
      expiresAt === null ? Infinity : Date.parse(expiresAt);
    const [first] = (await this.list(account)).sort((a, b) => endOf(a) - endOf(b));
    if (first === undefined || endOf(first) > now) return false;
    // Even if another process has removed this API key meanwhile, there may now be room for the new one.
    await this.remove(first.id);
    return true;
  }

  async remove(id: string): Promise<boolean> {
    // An API key never moves to another account, so this read and the removal need not be one atomic step.
    const key = await this.find(id);
    if (key === undefined) return false;
    const { apiKeys, apiKeysOf, apiKeyUses, revocations } = this.keys;
    const keys = { apiKeys, ownApiKeys: apiKeysOf(key.account), uses: apiKeyUses, revocations };
    const isRemoved = (await removeApiKeyScript.run(this.redis, keys, { id })) === 1;
    if (isRemoved) await removeTokensAndSessionsOfApiKey(this.redis, this.keys, id);
    return isRemoved;
  }

  async recordUses(uses: ReadonlyMap<string, number>): Promise<void> {
    const { apiKeyUses, apiKeys } = this.keys;
    const all = [...uses];
    for (let i = 0; i < all.length; i += RECORDED_AT_ONCE) {
      const used = all.slice(i, i + RECORDED_AT_ONCE).flat();
      const args = { fixed: ENVIRONMENT_API_KEY_ID, used };
      await recordUsesScript.run(this.redis, { uses: apiKeyUses, apiKeys }, args);
    }
  }

  async lastUses(ids: readonly string[]): Promise<Map<string, number>> {
    if (ids.length === 0) return new Map();
    const times = await this.redis.hmget(this.keys.apiKeyUses, ...ids);
    const known = ids.map((id, i): [string, number] => [id, Number(times[i] ?? 0)]);
    return new Map(known.filter(([, time]) => time > 0));
  }
}

function readKey(text: string): StoredApiKey {
  return JSON.parse(text) as StoredApiKey;
}
