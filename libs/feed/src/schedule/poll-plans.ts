import { LRUCache } from 'lru-cache';
import { type IntervalBounds, type IntervalPlan, planIntervals } from './intervals.js';
import type { RateHistogram } from './rate-histogram.js';
import { rateOf } from './rate.js';

/** An account's contacts, by how often they change. */
export interface ContactRates {
  /** Those that were read; see `rate-histogram.ts`. */
  rates: RateHistogram;
  /** How many contacts are polled. */
  contacts: number;
}

/** A plan is worked out anew after so long, in milliseconds: conversations begin and end, but an account has many contacts. */
const PLAN_LIFE_MS = 500;
/** Plans are kept of so many accounts. */
const MAX_PLANS = 2_000;
/** The plans by which an account's contacts are scheduled, for as long as they are fresh. */
export class PollPlans {
  private readonly plans = new LRUCache<string, IntervalPlan>({
    max: MAX_PLANS,
    ttl: PLAN_LIFE_MS,
  });

  constructor(
    private readonly ratesOf: (account: string) => Promise<ContactRates>,
    private readonly bounds: IntervalBounds,
  ) {}

  /**
   * @param requestsPerSecond what the account's polls may cost
   * @param most how many contacts it has at most
   */
  async planOf(account: string, requestsPerSecond: number, most: number): Promise<IntervalPlan> {
    const { minMs } = this.bounds;
    // Where all may be read as often as anybody, it does not matter who changes how often.
    if ((most * 1_000) / minMs <= requestsPerSecond)
      return { intervalMs: () => minMs, budgetAllowsMaxMs: minMs };
    const kept = this.plans.get(account);
    if (kept !== undefined) return kept;
    const { rates, contacts } = await this.ratesOf(account);
    const known = [...rates.values()].reduce((sum, count) => sum + count, 0);
    // Those that nobody has read yet are taken for average ones.
    const missing = { contacts: Math.max(contacts - known, 0), perSecond: rateOf(undefined, 0) };
    const plan = planIntervals(rates, requestsPerSecond, this.bounds, missing);
    this.plans.set(account, plan);
    return plan;
  }
}
