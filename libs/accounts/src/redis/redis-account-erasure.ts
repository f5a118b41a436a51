import { randomBytes } from 'node:crypto';
import { Cluster, type Redis } from 'ioredis';
import { accountKeys, LuaScript, type RedisClient } from '#platform';
import { ACCOUNT_ID, DEFAULT_ACCOUNT } from '../account/account.js';

/** Keys that are looked at, and keys that are removed, in one step. */
const MOST_SCANNED = 1_000;
const MOST_REMOVED = 500;
/** A pass that was killed or paused is another's after so long. */
const LEASE_MS = 30_000;

const unlink = LuaScript.from(import.meta.url, 'lua/erase-keys.lua');

const giveBack = LuaScript.from(import.meta.url, 'lua/release-erasure.lua');

export interface ErasurePass {
  /** A pass that is told to stop leaves the rest to the next one. */
  signal?: AbortSignal;
  /**
   * Is given how many keys were removed, while nobody else is at the account.
   * @param isOurs says whether that is so still, and keeps it so for the length of a lease
   */
  then?: (removed: number, isOurs: () => Promise<boolean>) => Promise<void>;
}

/**
 * Erases what Redis keeps of an account: all keys of its hash tag, wherever they lie. In bites, so that nobody waits for
 * it; one pass at a time, whoever makes it.
 */
export class RedisAccountErasure {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly leaseMs = LEASE_MS,
  ) {}

  /**
   * One pass over all keys. How many were removed, or undefined where another pass is under way, or took this one over,
   * or it was stopped.
   * @param isRemoved whether the account is one to be removed still; it is asked when nobody else can be at it
   */
  async pass(
    account: string,
    isRemoved: () => Promise<boolean>,
    { signal, then }: ErasurePass = {},
  ): Promise<number | undefined> {
    if (!ACCOUNT_ID.test(account) || account === DEFAULT_ACCOUNT)
      throw new Error(`${account} is no account that is ever erased`);
    const lease = accountKeys(this.prefix, account)('erasure');
    const token = randomBytes(8).toString('hex');
    if ((await this.redis.set(lease, token, 'PX', this.leaseMs, 'NX')) === null) return undefined;
    try {
      if (!(await isRemoved())) return undefined;
      const removed = await this.removeAll(account, lease, token, signal);
      if (removed !== undefined)
        await then?.(removed, async () => (await this.unlink(lease, token, [])) === 0);
      return removed;
    } finally {
      await giveBack.run(this.redis, { lease }, { token });
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
        const [next, found] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', MOST_SCANNED);
        cursor = next;
        const keys = found.filter((key) => key !== lease);
        for (let i = 0; i === 0 || i < keys.length; i += MOST_REMOVED) {
          const count = await this.unlink(lease, token, keys.slice(i, i + MOST_REMOVED));
          if (count < 0) return undefined;
          removed += count;
        }
      }
    }
    return removed;
  }

  /** How many were removed; less than 0 where the lease is another's. */
  private async unlink(lease: string, token: string, keys: readonly string[]): Promise<number> {
    const args = { token, leaseMs: this.leaseMs };
    return Number(await unlink.run(this.redis, { lease, data: keys }, args));
  }
}

function mastersOf(redis: RedisClient): Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}

/** A pattern that matches this text alone. */
function escaped(text: string): string {
  return text.replace(/[\\*?[\]^]/g, '\\$&');
}
