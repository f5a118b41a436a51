import { createHash } from 'node:crypto';
import { accountKeys, type AccountKeys, LuaScript, type RedisClient } from '#platform';
import type { IdempotencyKeys, IdempotencyKeyUse } from '../send/idempotency-keys.js';
import type { IdempotencyKey } from '../send/send-service.js';

const recallKeyScript = LuaScript.from(import.meta.url, 'lua/recall-idempotency-key.lua');

const reserveKeyScript = LuaScript.from(import.meta.url, 'lua/reserve-idempotency-key.lua');

const releaseKeyScript = LuaScript.from(import.meta.url, 'lua/release-idempotency-key.lua');

/** Stores each idempotency key as a Redis string that expires. */
export class RedisIdempotencyKeys implements IdempotencyKeys {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async reserve(account: string, key: string, owner: string, leaseMs: number): Promise<boolean> {
    return (await reserveKeyScript.run(this.redis, this.keys(account, key), { owner, lease: leaseMs })) === 1;
  }

  async release(account: string, key: string, owner: string): Promise<void> {
    await releaseKeyScript.run(this.redis, this.keys(account, key), { owner });
  }

  async recall(
    account: string,
    { key, fingerprint, owner = '' }: Omit<IdempotencyKey, 'lifetimeMs'>,
  ): Promise<IdempotencyKeyUse | undefined> {
    const reply = String(
      await recallKeyScript.run(this.redis, this.keys(account, key), { fingerprint, owner }),
    );
    return reply === '' ? undefined : parseIdempotencyKeyUse(reply);
  }

  private keys(account: string, key: string): { idempotency: string } {
    return { idempotency: idempotencyRedisKey(accountKeys(this.prefix, account), key) };
  }
}

/**
 * Returns the Redis key under which an idempotency key is stored. The caller's key is hashed, because it may be any
 * text of any length.
 */
export function idempotencyRedisKey(keys: AccountKeys, key: string): string {
  return keys('idempotency', createHash('sha256').update(key).digest('hex'));
}

/** Parses a script's reply that says why no new send can be stored under an idempotency key. */
export function parseIdempotencyKeyUse(reply: string): IdempotencyKeyUse {
  return reply === 'reused' || reply === 'busy' ? { kind: reply } : { kind: 'replay', id: reply };
}
