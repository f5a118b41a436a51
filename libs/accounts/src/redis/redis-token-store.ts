import { LuaScript, type RedisClient } from '#platform';
import { AccountConflictError } from '../account/account-conflict-error.js';
import type { StoredApiKey } from '../api-key/stored-api-key.js';
import {
  type FoundToken,
  MAX_TOKENS_PER_API_KEY,
  type StoredToken,
  type TokenStore,
} from '../token/token.js';
import { crossAccountRedisKeys, type CrossAccountKeys } from './redis-account-keys.js';

const addTokenScript = LuaScript.from(import.meta.url, 'lua/add-token.lua');

const findTokenScript = LuaScript.from(import.meta.url, 'lua/find-token.lua');

const removeTokenScript = LuaScript.from(import.meta.url, 'lua/remove-token.lua');

const FULL = `The API key has reached its limit of ${MAX_TOKENS_PER_API_KEY} tokens. Revoke a token, or wait until one expires.`;

/**
 * Stores each token in a Redis hash that expires with the token, and the ids of each API key's tokens in a
 * sorted set; implements {@link TokenStore}. Tokens and API keys are in one Redis hash slot, so that one script
 * reads a token together with its API key.
 */
export class RedisTokenStore implements TokenStore {
  private readonly keys: CrossAccountKeys;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
    private readonly maxTokens = MAX_TOKENS_PER_API_KEY,
  ) {
    this.keys = crossAccountRedisKeys(prefix);
  }

  async add(token: StoredToken, lifetimeMs: number, latestEnd?: number): Promise<number> {
    const { id, keyId } = token;
    const outcome = await addTokenScript.run(
      this.redis,
      { token: this.keys.token(id), ownTokens: this.keys.tokensOf(keyId) },
      {
        ...{ id, record: JSON.stringify(token), keyId, lifetime: lifetimeMs },
        ...{ latestEnd: latestEnd ?? '', maxTokens: this.maxTokens },
      },
    );
    if (outcome === 'full') throw new AccountConflictError(FULL);
    return Number(outcome);
  }

  async find(id: string): Promise<FoundToken | undefined> {
    const keys = { token: this.keys.token(id), apiKeys: this.keys.apiKeys };
    const found = (await findTokenScript.run(this.redis, keys)) as {
      record: string;
      expiresAt: string;
      apiKey: string;
      now: number;
    } | null;
    if (found === null) return undefined;
    return {
      token: JSON.parse(found.record) as StoredToken,
      expiresAt: Number(found.expiresAt),
      apiKey: found.apiKey === '' ? undefined : (JSON.parse(found.apiKey) as StoredApiKey),
      now: found.now,
    };
  }

  async remove(account: string, id: string): Promise<boolean> {
    // A token never moves to another account or API key, so this read and the removal need not be one atomic step.
    const found = await this.find(id);
    if (found?.token.account !== account) return false;
    const { revocations } = this.keys;
    const keys = {
      token: this.keys.token(id),
      ownTokens: this.keys.tokensOf(found.token.keyId),
      revocations,
    };
    return (await removeTokenScript.run(this.redis, keys, { id })) === 1;
  }
}
