import { type RateHistogram, rateOfBucket } from './rate-histogram.js';

/** Bounds of a contact's polling interval, in milliseconds. */
export interface IntervalBounds {
  minMs: number;
  maxMs: number;
}

// Local copies: plans are computed often, and access to globals is slow in a VM context such as Jest's.
const { cbrt, max, min, sqrt } = Math;
const SMALLEST = Number.MIN_VALUE;

/** Contacts with the same expected rate of change. */
interface Group {
  perSecond: number;
  contacts: number;
}

/**
 * Time after which a second message usually follows the first one of a conversation, in seconds. A late first message makes
 * the following ones late as well, so an interval T at rate r costs r × T² × (1 + T / 60 s). The plan equalizes this cost:
 * short intervals are proportional to the inverse square root of the rate, long ones to the inverse cube root.
 */
const FOLLOWED_AFTER_SECONDS = 60;
/** Maximum interval of a contact, as a multiple of the interval that all contacts would have with equal rates. */
const MAX_STARVATION = 1.25;
/** Minimum of that bound, in the same unit: leaves a part of the budget for contacts that change often. */
const MIN_STARVATION = 1.1;

/** Polling intervals of an account's contacts. */
export interface IntervalPlan {
  /** Returns the time until the next read of a contact, in milliseconds, by its rate of change in messages per second. */
  readonly intervalMs: (perSecond: number) => number;
  /** Longest planned interval, in milliseconds. Exceeds the configured maximum if the budget is too small. */
  budgetAllowsMaxMs: number;
}

/**
 * Plans intervals so that polling all contacts uses the whole budget, or less if every contact is at the minimum interval.
 * @param requestsPerSecond request budget of polls; more than 0
 * @param missing number of contacts that the histogram does not include yet, and their assumed rate
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

/** Bounds of the interval, in seconds. */
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

/** Returns the lateness per contact at which polling all contacts uses the whole budget. */
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

/** Returns how late an interval makes messages, weighted by their rate; see {@link FOLLOWED_AFTER_SECONDS}. */
function lateness(seconds: number, perSecond: number): number {
  return perSecond * seconds ** 2 * (1 + seconds / FOLLOWED_AFTER_SECONDS);
}

/** Returns the interval that causes the given lateness, within the bounds. */
function intervalSeconds(weight: number, perSecond: number, { shortest, longest }: Limits): number {
  const ratio = weight / max(perSecond, SMALLEST);
  // The negation also covers NaN.
  if (!(ratio < lateness(longest, 1))) return longest;
  if (ratio <= lateness(shortest, 1)) return shortest;
  // Newton's method. The function is convex and the start value is too high, so the iteration only decreases.
  let seconds = min(sqrt(ratio), cbrt(ratio * FOLLOWED_AFTER_SECONDS));
  for (let n = 0; n < 4; n += 1) {
    const slope = 2 * seconds + (3 * seconds ** 2) / FOLLOWED_AFTER_SECONDS;
    seconds -= (lateness(seconds, 1) - ratio) / slope;
  }
  return min(max(seconds, shortest), longest);
}
