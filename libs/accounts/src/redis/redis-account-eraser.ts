import { randomBytes } from 'node:crypto';
import { Cluster, type Redis } from 'ioredis';
import { accountKeys, LuaScript, type RedisClient } from '#platform';
import { ACCOUNT_ID_PATTERN, DEFAULT_ACCOUNT_ID } from '../account/account.js';

/** Number of Redis keys that one SCAN command examines. */
const SCAN_COUNT = 1_000;
const MAX_REMOVED = 500;
/**
 * Duration of the lease for the erasure of an account, in milliseconds. If the erasing process is killed or
 * paused, another process may take over after this time.
 */
const LEASE_MS = 30_000;

const takeErasureScript = LuaScript.from(import.meta.url, 'lua/take-erasure.lua');

const eraseKeysScript = LuaScript.from(import.meta.url, 'lua/erase-keys.lua');

const releaseErasureScript = LuaScript.from(import.meta.url, 'lua/release-erasure.lua');

export interface ErasurePass {
  /**
   * When this signal is aborted, the erasure stops. The next call of {@link RedisAccountEraser.pass} erases the
   * remaining keys.
   */
  signal?: AbortSignal;
  /**
   * Called after all Redis keys were examined, while this process still holds the lease of the erasure. `removed` is
   * the number of removed keys.
   * @param isOurs renews the lease of the erasure and resolves to true; resolves to false if this process has lost
   * the lease
   */
  afterPass?: (removed: number, isOurs: () => Promise<boolean>) => Promise<void>;
}

/**
 * Erases all data of an account in Redis: on all Redis masters, every key with the account's hash tag. The
 * keys are removed in small batches that do not block Redis. At most one process erases an account at a time.
 */
export class RedisAccountEraser {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly leaseMs = LEASE_MS,
  ) {}

  /**
   * Examines all Redis keys once, and removes those of the account while this process holds the lease of the erasure.
   * Resolves to the number of removed keys. Resolves to undefined if another process holds the lease, if this process
   * loses the lease, if `mustErase` resolves to false, or if `signal` is aborted.
   * @param mustErase resolves to false if the account is not to be erased any more; called while this process
   * holds the lease
   * @throws {Error} if `account` is no valid account id, or is the account of the environment variables
   */
  async pass(
    account: string,
    mustErase: () => Promise<boolean>,
    { signal, afterPass }: ErasurePass = {},
  ): Promise<number | undefined> {
    if (!ACCOUNT_ID_PATTERN.test(account) || account === DEFAULT_ACCOUNT_ID)
      throw new Error(`${account} is not an account that can be erased`);
    const lease = accountKeys(this.prefix, account)('erasure');
    const token = randomBytes(8).toString('hex');
    const taken = await takeErasureScript.run(this.redis, { lease }, { token, leaseMs: this.leaseMs });
    if (Number(taken) === 0) return undefined;
    try {
      if (!(await mustErase())) return undefined;
      const removed = await this.removeAll(account, lease, token, signal);
      if (removed !== undefined)
        await afterPass?.(removed, async () => (await this.eraseKeys(lease, token, [])) === 0);
      return removed;
    } finally {
      await releaseErasureScript.run(this.redis, { lease }, { token });
    }
  }

  private async removeAll(
    account: string,
    lease: string,
    token: string,
    signal: AbortSignal | undefined,
  ): Promise<number | undefined> {
    const pattern = `${escaped(accountKeys(this.prefix, account)(''))}*`;
    let removed = 0;
    for (const node of mastersOf(this.redis)) {
      for (let cursor = '0', begun = false; !begun || cursor !== '0'; begun = true) {
        if (signal?.aborted === true) return undefined;
        const [next, found] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT);
        cursor = next;
        const keys = found.filter((key) => key !== lease);
        for (let i = 0; i === 0 || i < keys.length; i += MAX_REMOVED) {
          const count = await this.eraseKeys(lease, token, keys.slice(i, i + MAX_REMOVED));
          if (count < 0) return undefined;
          removed += count;
        }
      }
    }
    return removed;
  }

  /**
   * Renews the lease and removes keys. Resolves to the number of removed keys, or to a negative number if this
   * process has lost the lease; no key is then removed.
   */
  private async eraseKeys(lease: string, token: string, keys: readonly string[]): Promise<number> {
    const args = { token, leaseMs: this.leaseMs };
    return Number(await eraseKeysScript.run(this.redis, { lease, data: keys }, args));
  }
}

function mastersOf(redis: RedisClient): Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}

/** Escapes a text for use in a Redis glob pattern, so that the pattern matches exactly this text. */
function escaped(text: string): string {
  return text.replace(/[\\*?[\]^]/g, '\\$&');
}
