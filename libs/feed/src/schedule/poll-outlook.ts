import type { FeedOverview } from './feed-overview.js';
import { forecastDelay } from './forecast.js';
import { planIntervals } from './intervals.js';
import { rateOf } from './rate.js';

/** What an account may ask upstream, in requests a second. */
export interface PlannedBudget {
  /** The account's setting. */
  requestsPerSecond: number;
  /** What of it may leave now: less where upstream refused more. */
  allowed: number;
  /** What is used by others than the heads of contacts. */
  usedByOthers: number;
}

/** The detection delay to be expected with a budget; absent where there are no contacts, or no worker has polled yet. */
export interface BudgetForecast {
  requestsPerSecond: number;
  p50Ms?: number;
  p95Ms?: number;
}

/** What the schedule comes to. */
export interface PollOutlook {
  /** The longest interval that the budget allows to plan with: above the maximum where that cannot be kept. */
  longestIntervalMs?: number;
  /** With half the budget, this one, and twice as much. */
  forecast: readonly BudgetForecast[];
}

/** Polls always keep so much of the budget. */
const FLOOR = 1 / 5;
const FACTORS = [1 / 2, 1, 2];

/**
 * What the polls of an account come to under its budget and under others, if contacts change as often as they do now and
 * the rest of the work stays as it is. By the arithmetic that the contacts are scheduled by. Pure.
 */
export function pollOutlook(
  { contacts, rates, interval }: Pick<FeedOverview, 'contacts' | 'rates' | 'interval'>,
  { requestsPerSecond, allowed, usedByOthers }: PlannedBudget,
): PollOutlook {
  const budgets = FACTORS.map((factor) => requestsPerSecond * factor);
  if (contacts === 0 || interval === undefined)
    return { forecast: budgets.map((budget) => ({ requestsPerSecond: budget })) };
  const known = [...rates.values()].reduce((sum, count) => sum + count, 0);
  // A contact that nobody has read yet is taken for an average one.
  const missing = { contacts: Math.max(contacts - known, 0), perSecond: rateOf(undefined, 0) };
  const forPolls = (budget: number): number => {
    const leaving = (budget * allowed) / requestsPerSecond;
    return Math.max(leaving - usedByOthers, leaving * FLOOR);
  };
  const forecast = budgets.map((budget) => {
    const { p50Ms, p95Ms } = forecastDelay(rates, forPolls(budget), interval, missing) ?? {};
    return {
      requestsPerSecond: budget,
      ...(p50Ms === undefined || p95Ms === undefined ? {} : { p50Ms, p95Ms }),
    };
  });
  const plan = planIntervals(rates, forPolls(requestsPerSecond), interval, missing);
  return { longestIntervalMs: plan.budgetAllowsMaxMs, forecast };
}
