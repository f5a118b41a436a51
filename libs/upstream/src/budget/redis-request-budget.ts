import { accountKeys, LuaScript, pause, type RedisClient } from '#platform';
import {
  type AdaptiveBudget,
  BudgetExhaustedError,
  type BudgetUsage,
  MAX_PAUSE_MS,
  type RequestClass,
  type TokenReply,
} from './request-budget.js';

const take = LuaScript.from(import.meta.url, 'lua/take-token.lua');

const giveBack = LuaScript.from(import.meta.url, 'lua/return-tokens.lua');

const readUsage = LuaScript.from(import.meta.url, 'lua/read-usage.lua');

const shrink = LuaScript.from(import.meta.url, 'lua/shrink-budget.lua');

const grow = LuaScript.from(import.meta.url, 'lua/grow-budget.lua');

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

  async ask(account: string, rate: number, kind: RequestClass, unused = 0): Promise<TokenReply> {
    const askedAt = performance.now();
    const reply = await take.run(this.redis, { bucket: this.bucketOf(account) }, { rate, kind, unused });
    const { waitMs, shrunk } = reply as { waitMs: number; shrunk: number };
    if (shrunk === 1) this.shrunk.add(account);
    return { waitMs, askedAt };
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
      const { waitMs, askedAt } = await this.ask(account, rate, kind, returned);
      if (waitMs === 0) return askedAt;
      if (performance.now() + waitMs > end) throw new BudgetExhaustedError(waitMs);
      await pause(Math.min(waitMs, MAX_PAUSE_MS));
    }
  }

  async giveBack(account: string, rate: number): Promise<void> {
    await giveBack.run(this.redis, { bucket: this.bucketOf(account) }, { rate, count: 1 });
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

  async tooMany(account: string, rate: number): Promise<void> {
    await shrink.run(this.redis, { bucket: this.bucketOf(account) }, { rate, burstMs: BURST_MS });
    this.shrunk.add(account);
  }

  async fine(account: string, rate: number): Promise<void> {
    if (!this.shrunk.has(account)) return;
    const still = await grow.run(this.redis, { bucket: this.bucketOf(account) }, { rate, share: GROWTH });
    if (still === 0) this.shrunk.delete(account);
  }

  private bucketOf(account: string): string {
    return accountKeys(this.prefix, account)('budget');
  }
}
