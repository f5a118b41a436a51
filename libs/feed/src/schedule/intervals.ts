import { type RateHistogram, representativeRateOfBucket } from './rate-histogram.js';

/** Minimum and maximum time between two polls of a contact, in milliseconds. */
export interface IntervalBounds {
  minMs: number;
  maxMs: number;
}

// These functions are copied into local constants, because plans are computed often and access to globals is
// slow in a VM context such as Jest's.
const { cbrt, max, min, sqrt } = Math;
const SMALLEST = Number.MIN_VALUE;

/**
 * A group of contacts with the same expected rate of change: this rate in messages per second, and the number
 * of contacts.
 */
interface Group {
  perSecond: number;
  contacts: number;
}

/**
 * Time after which a second message usually follows the first message of a conversation, in seconds. If the
 * first message is detected late, the following messages are detected late as well. The cost of an interval
 * of T seconds at a rate of r messages per second is therefore r × T² × (1 + T / 60). The plan gives every
 * contact the same cost: short intervals are proportional to the inverse square root of the rate, and long
 * intervals to the inverse cube root.
 */
const FOLLOWED_AFTER_SECONDS = 60;
/**
 * Maximum polling interval of a contact, as a multiple of the interval that all contacts would have if their
 * rates of change were equal.
 */
const MAX_STARVATION = 1.25;
/**
 * Maximum polling interval of a contact if the configured maximum is shorter, as a multiple of the interval that
 * all contacts would have if their rates of change were equal. The multiple is above 1, so that a part of the
 * budget is left for contacts that change often.
 */
const MIN_STARVATION = 1.1;

/** How often each contact of an account is polled. */
export interface IntervalPlan {
  /**
   * Returns the time until the next poll of a contact, in milliseconds.
   * @param perSecond the contact's rate of change, in messages per second
   */
  readonly intervalMs: (perSecond: number) => number;
  /**
   * Longest polling interval of all contacts, in milliseconds. It exceeds the configured maximum if the
   * budget is too small.
   */
  budgetAllowsMaxMs: number;
}

/**
 * Plans how often each contact of an account is polled. The polls of all contacts together use the whole
 * request budget, or less if every contact is already polled at the minimum interval.
 * @param histogram number of contacts by rate of change
 * @param requestsPerSecond request budget for polls; more than 0
 * @param missing number of contacts that the histogram does not include yet, and their assumed rate of change
 */
export function planPollIntervals(
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
  const known = [...histogram].map(([bucket, contacts]) => ({
    perSecond: representativeRateOfBucket(bucket),
    contacts,
  }));
  return [...known, missing].filter(({ contacts }) => contacts > 0);
}

/** Shortest and longest polling interval of a contact, in seconds. */
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

/**
 * Returns the cost per contact at which the polls of all contacts together use the whole budget. The cost is
 * defined by {@link lateness}.
 */
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

/**
 * Returns the cost of detecting messages late with a polling interval of `seconds`, for a contact with
 * `perSecond` new messages per second; see {@link FOLLOWED_AFTER_SECONDS}.
 */
function lateness(seconds: number, perSecond: number): number {
  return perSecond * seconds ** 2 * (1 + seconds / FOLLOWED_AFTER_SECONDS);
}

/**
 * Returns the polling interval at which a contact has the cost `weight`, in seconds. The result is limited to
 * the shortest and the longest allowed interval.
 */
function intervalSeconds(weight: number, perSecond: number, { shortest, longest }: Limits): number {
  const ratio = weight / max(perSecond, SMALLEST);
  // The condition is negated so that it is also true if `ratio` is NaN.
  if (!(ratio < lateness(longest, 1))) return longest;
  if (ratio <= lateness(shortest, 1)) return shortest;
  // Newton's method solves `lateness(seconds, 1) = ratio`. The start value is never too low, and `lateness` is
  // convex, so each step comes closer to the solution from above.
  let seconds = min(sqrt(ratio), cbrt(ratio * FOLLOWED_AFTER_SECONDS));
  for (let n = 0; n < 4; n += 1) {
    const slope = 2 * seconds + (3 * seconds ** 2) / FOLLOWED_AFTER_SECONDS;
    seconds -= (lateness(seconds, 1) - ratio) / slope;
  }
  return min(max(seconds, shortest), longest);
}
