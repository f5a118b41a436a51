import type { FeedOverview } from './feed-overview.js';
import { forecastDelay } from './forecast.js';
import { planIntervals } from './intervals.js';
import { rateOf } from './rate.js';

/** Request budget of an account, in requests per second. */
export interface PlannedBudget {
  /** Configured budget. */
  requestsPerSecond: number;
  /** Budget that is effective now: lower than configured while upstream throttles. */
  allowed: number;
  /** Part of the budget that other requests than reads of the newest messages use. */
  usedByOthers: number;
}

/** Expected detection delay under a budget; no delays without contacts or before the first poll of a worker. */
export interface BudgetForecast {
  requestsPerSecond: number;
  p50Ms?: number;
  p95Ms?: number;
}

/** Expected polling of an account. */
export interface PollOutlook {
  /** Longest planned interval; above the configured maximum if the budget is too small. */
  longestIntervalMs?: number;
  /** Forecasts for half the budget, the budget, and twice the budget. */
  forecast: readonly BudgetForecast[];
}

/** Minimum share of the request budget that is reserved for polls. */
const FLOOR = 1 / 5;
const FACTORS = [1 / 2, 1, 2];

/**
 * Forecasts the polling of an account under its own and other budgets, if contacts keep changing at their present rates and
 * other requests stay as they are. Uses the same computation as the schedule. Pure.
 */
export function forecastPolling(
  { contacts, rates, interval }: Pick<FeedOverview, 'contacts' | 'rates' | 'interval'>,
  { requestsPerSecond, allowed, usedByOthers }: PlannedBudget,
): PollOutlook {
  const budgets = FACTORS.map((factor) => requestsPerSecond * factor);
  if (contacts === 0 || interval === undefined)
    return { forecast: budgets.map((budget) => ({ requestsPerSecond: budget })) };
  const known = [...rates.values()].reduce((sum, count) => sum + count, 0);
  // Contacts that were never read get the average rate.
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
