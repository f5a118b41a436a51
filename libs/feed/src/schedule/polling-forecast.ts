import type { FeedOverview } from './feed-overview.js';
import { forecastDetectionDelay } from './forecast.js';
import { planPollIntervals } from './intervals.js';
import { expectedMessageRate } from './rate.js';

/**
 * An account's budget of requests to upstream, and the part of the budget that is not available to polls.
 */
export interface PlannedBudget {
  /** Configured request budget, in requests per second. */
  requestsPerSecond: number;
  /**
   * Request budget that applies now, in requests per second. It is lower than the configured budget while
   * upstream throttles requests.
   */
  allowed: number;
  /**
   * Request rate that is subtracted from the budget before polls are planned, in requests per second. It is
   * measured from recent sends, look-ups, reads of callers, and polls. The first request of each poll is not
   * included, because the plan already accounts for it. A request of a deep read is included only if other polls
   * were waiting for the budget when the request was made.
   */
  usedByOthers: number;
}

/**
 * Detection delays to expect with a certain request budget. The delays are absent if there are no contacts,
 * or if no worker has polled yet.
 */
export interface BudgetForecast {
  requestsPerSecond: number;
  p50Ms?: number;
  p95Ms?: number;
}

/** Forecast of the polling intervals and detection delays of an account. */
export interface PollingForecast {
  /**
   * Longest expected time between two polls of a contact, in milliseconds. It exceeds the configured maximum
   * if the budget is too small. Absent if there are no contacts, or if no worker has polled yet.
   */
  longestIntervalMs?: number;
  /**
   * Forecasts of the detection delays with half the request budget, with the request budget itself, and with
   * twice the request budget, in this order.
   */
  forecast: readonly BudgetForecast[];
}

/** Minimum share of the request budget that is reserved for polls, from 0 to 1. */
const FLOOR = 1 / 5;
const FACTORS = [1 / 2, 1, 2];

/**
 * Forecasts the longest polling interval of an account with its request budget, and the detection delays with half,
 * the whole and twice the request budget. The forecast assumes that the message rates of the contacts and
 * {@link PlannedBudget.usedByOthers} stay the same. It uses the same computation as the schedule of polls. Has no
 * side effects.
 */
export function forecastPolling(
  { contacts, rates, interval }: Pick<FeedOverview, 'contacts' | 'rates' | 'interval'>,
  { requestsPerSecond, allowed, usedByOthers }: PlannedBudget,
): PollingForecast {
  const budgets = FACTORS.map((factor) => requestsPerSecond * factor);
  if (contacts === 0 || interval === undefined)
    return { forecast: budgets.map((budget) => ({ requestsPerSecond: budget })) };
  const known = [...rates.values()].reduce((sum, count) => sum + count, 0);
  // A default message rate is assumed for contacts that were never read.
  const missing = { contacts: Math.max(contacts - known, 0), perSecond: expectedMessageRate(undefined, 0) };
  const forPolls = (budget: number): number => {
    const leaving = (budget * allowed) / requestsPerSecond;
    return Math.max(leaving - usedByOthers, leaving * FLOOR);
  };
  const forecast = budgets.map((budget) => {
    const { p50Ms, p95Ms } = forecastDetectionDelay(rates, forPolls(budget), interval, missing) ?? {};
    return {
      requestsPerSecond: budget,
      ...(p50Ms === undefined || p95Ms === undefined ? {} : { p50Ms, p95Ms }),
    };
  });
  const plan = planPollIntervals(rates, forPolls(requestsPerSecond), interval, missing);
  return { longestIntervalMs: plan.budgetAllowsMaxMs, forecast };
}
