import { accountKeys, LuaScript, pause, type RedisClient } from '#platform';
import {
  type AdaptiveBudget,
  BudgetExhaustedError,
  type BudgetUsage,
  MAX_PAUSE_MS,
  type RequestClass,
  type TokenAttempt,
} from './request-budget.js';

const takeToken = LuaScript.from(import.meta.url, 'lua/take-token.lua');

const returnTokens = LuaScript.from(import.meta.url, 'lua/return-tokens.lua');

const readUsage = LuaScript.from(import.meta.url, 'lua/read-usage.lua');

const shrinkBudget = LuaScript.from(import.meta.url, 'lua/shrink-budget.lua');

const growBudget = LuaScript.from(import.meta.url, 'lua/grow-budget.lua');

/**
 * Length of a burst of 429 answers, in milliseconds. Later answers of a burst belong to requests that left before the
 * budget was halved, so they do not halve it again.
 */
const BURST_MS = 1_000;
/** Share of the rate by which each good answer raises a budget that was halved. */
const GROWTH = 1 / 50;

/** {@link RequestBudget} in Redis, shared by all processes. */
export class RedisRequestBudget implements AdaptiveBudget {
  /** Accounts whose budget was below their rate when this process last asked. */
  private readonly shrunk = new Set<string>();

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async tryAcquire(account: string, rate: number, kind: RequestClass, unused = 0): Promise<TokenAttempt> {
    const requestedAt = performance.now();
    const reply = await takeToken.run(this.redis, { bucket: this.bucketOf(account) }, { rate, kind, unused });
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
      await pause(Math.min(waitMs, MAX_PAUSE_MS));
    }
  }

  async returnToken(account: string, rate: number): Promise<void> {
    await returnTokens.run(this.redis, { bucket: this.bucketOf(account) }, { rate, count: 1 });
  }

  /** Reads how all processes together use the budget. */
  async usage(account: string, rate: number): Promise<BudgetUsage> {
    const reply = await readUsage.run(this.redis, { bucket: this.bucketOf(account) }, { rate });
    const usage = reply as Record<keyof BudgetUsage, string>;
    return {
      allowed: Number(usage.allowed),
      used: Number(usage.used),
      usedByOthers: Number(usage.usedByOthers),
      availableForPolls: Number(usage.availableForPolls),
    };
  }

  async shrink(account: string, rate: number): Promise<void> {
    await shrinkBudget.run(this.redis, { bucket: this.bucketOf(account) }, { rate, burstMs: BURST_MS });
    this.shrunk.add(account);
  }

  async grow(account: string, rate: number): Promise<void> {
    if (!this.shrunk.has(account)) return;
    const isShrunk = await growBudget.run(
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
