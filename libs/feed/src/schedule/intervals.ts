import { type RateHistogram, rateOfBucket } from './rate-histogram.js';

/** Bounds of one contact's interval, in milliseconds. */
export interface IntervalBounds {
  minMs: number;
  maxMs: number;
}

/** Contacts that are expected to change equally often. */
interface Group {
  perSecond: number;
  contacts: number;
}

/**
 * A late first message makes those late that follow it in the same conversation: after about so long there is a second
 * one. An interval T at rate r costs r × T² × (1 + T / this) requests' worth of lateness, and is chosen so that this is
 * the same for all contacts: short intervals follow the square root of the rate, long ones its cube root.
 */
const FOLLOWED_AFTER_SECONDS = 60;
/** No contact waits longer than this many times the interval that all would have if all were equal… */
const MAX_STARVATION = 1.25;
/** …and it takes at least this many before the maximum interval counts, so that some of the budget is free to follow changes. */
const MIN_STARVATION = 1.1;

/** How often to read each contact of an account. */
export interface IntervalPlan {
  /** How long to wait before the next read of a contact that changes so often (messages a second); milliseconds. */
  intervalMs(perSecond: number): number;
  /** The longest interval that is planned for any contact: more than the maximum where the budget does not allow that. */
  budgetAllowsMaxMs: number;
}

/**
 * Plans the intervals so that all contacts together cost the budget, or less where none may be read more often.
 * @param requestsPerSecond what polls may cost; more than 0
 * @param missing contacts that the histogram does not hold yet, and the rate that is expected of them
 */
export function planIntervals(
  histogram: RateHistogram,
  requestsPerSecond: number,
  bounds: IntervalBounds,
  missing: { contacts: number; perSecond: number } = { contacts: 0, perSecond: 0 },
): IntervalPlan {
  const groups = groupsOf(histogram, missing);
  const limits = limitsOf(groups, requestsPerSecond, bounds);
  const weight = solveWeight(groups, requestsPerSecond, limits);
  const intervalMs = (perSecond: number): number => intervalSeconds(weight, perSecond, limits) * 1000;
  return {
    intervalMs: (perSecond) => Math.round(intervalMs(perSecond)),
    budgetAllowsMaxMs: Math.round(
      Math.max(bounds.minMs, ...groups.map(({ perSecond }) => intervalMs(perSecond))),
    ),
  };
}

function groupsOf(histogram: RateHistogram, missing: { contacts: number; perSecond: number }): Group[] {
  const known = [...histogram].map(([bucket, contacts]) => ({ perSecond: rateOfBucket(bucket), contacts }));
  return [...known, missing].filter(({ contacts }) => contacts > 0);
}

/** The shortest and the longest interval, in seconds. */
interface Limits {
  shortest: number;
  longest: number;
}

function limitsOf(groups: readonly Group[], requestsPerSecond: number, bounds: IntervalBounds): Limits {
  const contacts = groups.reduce((sum, group) => sum + group.contacts, 0);
  const equal = contacts / requestsPerSecond;
  const longest = Math.min(MAX_STARVATION * equal, Math.max(bounds.maxMs / 1000, MIN_STARVATION * equal));
  const shortest = bounds.minMs / 1000;
  return { shortest, longest: Math.max(longest, shortest) };
}

/** The weight of a read at which all contacts together cost the budget. */
function solveWeight(groups: readonly Group[], requestsPerSecond: number, limits: Limits): number {
  const cost = (weight: number): number => {
    let sum = 0;
    for (const { perSecond, contacts } of groups)
      sum += contacts / intervalSeconds(weight, perSecond, limits);
    return sum;
  };
  const rates = groups.map(({ perSecond }) => perSecond);
  let low = Math.log(lateness(limits.shortest, Math.min(...rates, 1)) / 2);
  let high = Math.log(lateness(limits.longest, Math.max(...rates, 1)) * 2);
  if (cost(Math.exp(low)) <= requestsPerSecond) return Math.exp(low);
  for (let n = 0; n < 36; n += 1) {
    const middle = (low + high) / 2;
    if (cost(Math.exp(middle)) > requestsPerSecond) low = middle;
    else high = middle;
  }
  return Math.exp(high);
}

/** What an interval costs in lateness; see {@link FOLLOWED_AFTER_SECONDS}. */
function lateness(seconds: number, perSecond: number): number {
  return perSecond * seconds ** 2 * (1 + seconds / FOLLOWED_AFTER_SECONDS);
}

/** The interval whose lateness has this weight, within the limits. */
function intervalSeconds(weight: number, perSecond: number, { shortest, longest }: Limits): number {
  const ratio = weight / Math.max(perSecond, Number.MIN_VALUE);
  if (ratio >= lateness(longest, 1)) return longest;
  if (ratio <= lateness(shortest, 1)) return shortest;
  // Newton's method from above on a convex function: it only comes down.
  let seconds = Math.min(Math.sqrt(ratio), Math.cbrt(ratio * FOLLOWED_AFTER_SECONDS));
  for (let n = 0; n < 4; n += 1) {
    const slope = 2 * seconds + (3 * seconds ** 2) / FOLLOWED_AFTER_SECONDS;
    seconds -= (lateness(seconds, 1) - ratio) / slope;
  }
  return Math.min(Math.max(seconds, shortest), longest);
}
