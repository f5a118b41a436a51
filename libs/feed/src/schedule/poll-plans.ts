import { LRUCache } from 'lru-cache';
import { type IntervalBounds, type IntervalPlan, planIntervals } from './intervals.js';
import type { RateHistogram } from './rate-histogram.js';
import { rateOf } from './rate.js';

/** Rates of change of an account's contacts. */
export interface ContactRates {
  /** Contacts that were read at least once, by bucket of their rate. */
  rates: RateHistogram;
  /** Number of polled contacts. */
  contacts: number;
}

/** Lifetime of a plan, in milliseconds. Short, because rates change; not zero, because a plan covers many contacts. */
const PLAN_TTL_MS = 500;
/** Maximum number of accounts whose plan is cached. */
const MAX_PLANS = 2_000;
/** Caches the interval plans of accounts. */
export class PollPlans {
  private readonly plans = new LRUCache<string, IntervalPlan>({
    max: MAX_PLANS,
    ttl: PLAN_TTL_MS,
  });

  constructor(
    private readonly ratesOf: (account: string) => Promise<ContactRates>,
    private readonly bounds: IntervalBounds,
  ) {}

  /**
   * Returns the account's current plan.
   * @param requestsPerSecond request budget of the account's polls
   * @param maxContacts upper bound of the account's number of contacts
   */
  async planOf(account: string, requestsPerSecond: number, maxContacts: number): Promise<IntervalPlan> {
    const { minMs } = this.bounds;
    // The budget allows the minimum interval for every contact: rates do not matter.
    if ((maxContacts * 1_000) / minMs <= requestsPerSecond)
      return { intervalMs: () => minMs, budgetAllowsMaxMs: minMs };
    const kept = this.plans.get(account);
    if (kept !== undefined) return kept;
    const { rates, contacts } = await this.ratesOf(account);
    const known = [...rates.values()].reduce((sum, count) => sum + count, 0);
    // Contacts that were never read get the average rate.
    const missing = { contacts: Math.max(contacts - known, 0), perSecond: rateOf(undefined, 0) };
    const plan = planIntervals(rates, requestsPerSecond, this.bounds, missing);
    this.plans.set(account, plan);
    return plan;
  }
}
