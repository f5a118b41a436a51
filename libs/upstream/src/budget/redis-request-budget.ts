import { accountKeys, LuaScript, pause, type RedisClient } from '#platform';
import {
  type AdaptiveBudget,
  BudgetExhaustedError,
  type BudgetUsage,
  MAX_BUDGET_TOKEN_RETRY_PAUSE_MS,
  type RequestClass,
  type TokenAttempt,
} from './request-budget.js';

const takeTokenScript = LuaScript.from(import.meta.url, 'lua/take-token.lua');

const returnTokensScript = LuaScript.from(import.meta.url, 'lua/return-tokens.lua');

const readUsageScript = LuaScript.from(import.meta.url, 'lua/read-usage.lua');

const shrinkBudgetScript = LuaScript.from(import.meta.url, 'lua/shrink-budget.lua');

const growBudgetScript = LuaScript.from(import.meta.url, 'lua/grow-budget.lua');

/**
 * Time in milliseconds in which several 429 answers halve the budget only once. The later answers belong to
 * requests that were sent before the budget was halved.
 */
const BURST_MS = 1_000;
/** Each successful answer raises a halved budget by this fraction of the configured rate. */
const GROWTH = 1 / 50;

/** Implements {@link AdaptiveBudget} in Redis, so that all processes share each account's budget. */
export class RedisRequestBudget implements AdaptiveBudget {
  /** Accounts whose budget was below their configured rate when this process last asked Redis. */
  private readonly shrunk = new Set<string>();

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async tryAcquire(account: string, rate: number, kind: RequestClass, unused = 0): Promise<TokenAttempt> {
    const requestedAt = performance.now();
    const reply = await takeTokenScript.run(
      this.redis,
      { bucket: this.bucketOf(account) },
      { rate, kind, unused },
    );
    const { waitMs, shrunk } = reply as { waitMs: number; shrunk: number };
    if (shrunk === 1) this.shrunk.add(account);
    return { waitMs, requestedAt };
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
      const { waitMs, requestedAt } = await this.tryAcquire(account, rate, kind, returned);
      if (waitMs === 0) return requestedAt;
      if (performance.now() + waitMs > end) throw new BudgetExhaustedError(waitMs);
      await pause(Math.min(waitMs, MAX_BUDGET_TOKEN_RETRY_PAUSE_MS));
    }
  }

  async returnToken(account: string, rate: number): Promise<void> {
    await returnTokensScript.run(this.redis, { bucket: this.bucketOf(account) }, { rate, count: 1 });
  }

  /** Reads how much of an account's budget all processes together use. */
  async usage(account: string, rate: number): Promise<BudgetUsage> {
    const reply = await readUsageScript.run(this.redis, { bucket: this.bucketOf(account) }, { rate });
    const usage = reply as Record<keyof BudgetUsage, string>;
    return {
      allowed: Number(usage.allowed),
      used: Number(usage.used),
      usedByOthers: Number(usage.usedByOthers),
      availableForPolls: Number(usage.availableForPolls),
    };
  }

  async shrink(account: string, rate: number): Promise<void> {
    await shrinkBudgetScript.run(this.redis, { bucket: this.bucketOf(account) }, { rate, burstMs: BURST_MS });
    this.shrunk.add(account);
  }

  async grow(account: string, rate: number): Promise<void> {
    if (!this.shrunk.has(account)) return;
    const isShrunk = await growBudgetScript.run(
      this.redis,
      { bucket: this.bucketOf(account) },
      { rate, share: GROWTH },
    );
    if (isShrunk === 0) this.shrunk.delete(account);
  }

  private bucketOf(account: string): string {
    return accountKeys(this.prefix, account)('budget');
  }
}
