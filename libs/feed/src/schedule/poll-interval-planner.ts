import { LRUCache } from 'lru-cache';
import { type IntervalBounds, type IntervalPlan, planPollIntervals } from './intervals.js';
import type { RateHistogram } from './rate-histogram.js';
import { expectedMessageRate } from './rate.js';

/** Message rates of an account's contacts. */
export interface ContactRates {
  /** Number of contacts in each bucket of the message rate. Contacts that were never read are not counted. */
  rates: RateHistogram;
  /** Number of contacts of the account that are polled, including those that were never read. */
  contacts: number;
}

/**
 * Time for which a plan is cached, in milliseconds. The time is short because rates change, but not zero
 * because one plan is used for many contacts.
 */
const PLAN_TTL_MS = 500;
/** Maximum number of accounts whose polling intervals are cached. */
const MAX_PLANS = 2_000;
/** Plans how often the contacts of each account are polled, and caches the plans for a short time. */
export class PollIntervalPlanner {
  private readonly plans = new LRUCache<string, IntervalPlan>({
    max: MAX_PLANS,
    ttl: PLAN_TTL_MS,
  });

  constructor(
    private readonly ratesOf: (account: string) => Promise<ContactRates>,
    private readonly bounds: IntervalBounds,
  ) {}

  /**
   * Returns how often each contact of an account is polled.
   * @param requestsPerSecond request budget for polls of the account; more than 0
   * @param maxContacts upper bound of the number of contacts of the account
   */
  async planOf(account: string, requestsPerSecond: number, maxContacts: number): Promise<IntervalPlan> {
    const { minMs } = this.bounds;
    // If the budget allows the minimum interval for every contact, the message rates do not matter.
    if ((maxContacts * 1_000) / minMs <= requestsPerSecond)
      return { intervalMs: () => minMs, budgetAllowsMaxMs: minMs };
    const kept = this.plans.get(account);
    if (kept !== undefined) return kept;
    const { rates, contacts } = await this.ratesOf(account);
    const known = [...rates.values()].reduce((sum, count) => sum + count, 0);
    // A contact that was never read is assumed to have the default message rate.
    const missing = { contacts: Math.max(contacts - known, 0), perSecond: expectedMessageRate(undefined, 0) };
    const plan = planPollIntervals(rates, requestsPerSecond, this.bounds, missing);
    this.plans.set(account, plan);
    return plan;
  }
}
