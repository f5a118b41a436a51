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
 * A group of contacts with the same expected message rate: this rate in messages per second, and the number
 * of contacts.
 */
interface Group {
  perSecond: number;
  contacts: number;
}

/** Usual time between the first and the second message of a burst of messages, in seconds. */
const SECOND_MESSAGE_AFTER_SECONDS = 60;
/**
 * The longest polling interval is at most this many times the interval that results if all contacts are polled
 * equally often. Exception: it is never shorter than {@link IntervalBounds.minMs}.
 */
const LONGEST_INTERVAL_MAX_RATIO = 1.25;
/**
 * The longest polling interval is at least this many times the interval that results if all contacts are polled
 * equally often. The number is above 1, to leave a part of the budget for contacts with many messages.
 */
const LONGEST_INTERVAL_MIN_RATIO = 1.1;

/** How often each contact of an account is polled. */
export interface IntervalPlan {
  /**
   * Returns the time until the next poll of a contact, in milliseconds.
   * @param perSecond the contact's message rate, in messages per second
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
 * @param histogram number of contacts by message rate
 * @param requestsPerSecond request budget for polls; more than 0
 * @param missing number of contacts that the histogram does not include yet, and their assumed message rate
 */
export function planPollIntervals(
  histogram: RateHistogram,
  requestsPerSecond: number,
  bounds: IntervalBounds,
  missing: { contacts: number; perSecond: number } = { contacts: 0, perSecond: 0 },
): IntervalPlan {
  const groups = groupsOf(histogram, missing);
  const limits = limitsOf(groups, requestsPerSecond, bounds);
  const cost = delayCostForBudget(groups, requestsPerSecond, limits);
  const intervalMs = (perSecond: number): number => intervalSeconds(cost, perSecond, limits) * 1000;
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
  const equalInterval = contacts / requestsPerSecond;
  const longest = Math.min(
    LONGEST_INTERVAL_MAX_RATIO * equalInterval,
    Math.max(bounds.maxMs / 1000, LONGEST_INTERVAL_MIN_RATIO * equalInterval),
  );
  const shortest = bounds.minMs / 1000;
  return { shortest, longest: Math.max(longest, shortest) };
}

/**
 * Late detection of messages has a cost; see {@link delayCost}. Polling intervals are chosen so that this cost is the
 * same for each contact whose interval is within the limits. Returns the cost at which the polls of all contacts
 * together use the whole request budget. If the budget suffices to poll all contacts at the shortest interval,
 * returns a cost at which they are polled so.
 */
function delayCostForBudget(groups: readonly Group[], requestsPerSecond: number, limits: Limits): number {
  const requestsPerSecondAt = (cost: number): number => {
    let sum = 0;
    for (const { perSecond, contacts } of groups) sum += contacts / intervalSeconds(cost, perSecond, limits);
    return sum;
  };
  const rates = groups.map(({ perSecond }) => perSecond);
  let low = Math.log(delayCost(limits.shortest, Math.min(...rates, 1)) / 2);
  let high = Math.log(delayCost(limits.longest, Math.max(...rates, 1)) * 2);
  if (requestsPerSecondAt(Math.exp(low)) <= requestsPerSecond) return Math.exp(low);
  for (let n = 0; n < 36; n += 1) {
    const middle = (low + high) / 2;
    if (requestsPerSecondAt(Math.exp(middle)) > requestsPerSecond) low = middle;
    else high = middle;
  }
  return Math.exp(high);
}

/**
 * Returns the cost of late detection for a contact: r × T² × (1 + T / 60) for r new messages per second and a
 * polling interval of T seconds. 1 + T / 60 is the usual number of messages of a burst that arrive within T
 * seconds. The polling intervals are chosen so that all contacts of an account have the same cost. A contact
 * with many messages is therefore polled more often.
 */
function delayCost(seconds: number, perSecond: number): number {
  return perSecond * seconds ** 2 * (1 + seconds / SECOND_MESSAGE_AFTER_SECONDS);
}

/**
 * Returns the polling interval, in seconds, at which the {@link delayCost} of a contact is `cost`. The result is
 * at least `shortest` and at most `longest`.
 */
function intervalSeconds(cost: number, perSecond: number, { shortest, longest }: Limits): number {
  const ratio = cost / max(perSecond, SMALLEST);
  // The condition is negated so that it is also true if `ratio` is NaN.
  if (!(ratio < delayCost(longest, 1))) return longest;
  if (ratio <= delayCost(shortest, 1)) return shortest;
  // Newton's method solves `delayCost(seconds, 1) = ratio`. The start value is never too low, and `delayCost` is
  // convex, so each step comes closer to the solution from above.
  let seconds = min(sqrt(ratio), cbrt(ratio * SECOND_MESSAGE_AFTER_SECONDS));
  for (let n = 0; n < 4; n += 1) {
    const slope = 2 * seconds + (3 * seconds ** 2) / SECOND_MESSAGE_AFTER_SECONDS;
    seconds -= (delayCost(seconds, 1) - ratio) / slope;
  }
  return min(max(seconds, shortest), longest);
}
