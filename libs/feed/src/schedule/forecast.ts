import { type IntervalBounds, planPollIntervals } from './intervals.js';
import { type RateHistogram, representativeRateOfBucket } from './rate-histogram.js';

/** Mean and percentiles of the expected detection delay, in milliseconds. */
export interface DelayForecast {
  meanMs: number;
  p50Ms: number;
  p95Ms: number;
}

/**
 * Contacts with the same polling interval. `perSecond` is the number of new messages per second that they
 * have together. The detection delays of these messages are spread evenly between 0 and the polling interval.
 */
interface Share {
  perSecond: number;
  intervalMs: number;
}

/**
 * Returns the detection delays to expect with a request budget, if the message rates of the contacts stay the same;
 * undefined if there are no contacts. The forecast assumes that messages arrive at random times between two reads
 * of their contact. It does not include upstream's response time.
 * @param histogram number of contacts by message rate
 * @param requestsPerSecond request budget for polls; more than 0
 * @param missing number of contacts that the histogram does not include, and their assumed message rate
 */
export function forecastDetectionDelay(
  histogram: RateHistogram,
  requestsPerSecond: number,
  bounds: IntervalBounds,
  missing: { contacts: number; perSecond: number } = { contacts: 0, perSecond: 0 },
): DelayForecast | undefined {
  const plan = planPollIntervals(histogram, requestsPerSecond, bounds, missing);
  const known = [...histogram].map(([bucket, contacts]) => ({
    contacts,
    perSecond: representativeRateOfBucket(bucket),
  }));
  const shares = [...known, missing]
    .filter(({ contacts, perSecond }) => contacts > 0 && perSecond > 0)
    .map(({ contacts, perSecond }) => ({
      perSecond: contacts * perSecond,
      intervalMs: plan.intervalMs(perSecond),
    }));
  if (shares.length === 0) return undefined;
  const all = totalPerSecond(shares);
  const meanMs =
    shares.reduce((sum, { perSecond, intervalMs }) => sum + (perSecond * intervalMs) / 2, 0) / all;
  return {
    meanMs: Math.round(meanMs),
    p50Ms: percentile(shares, 0.5),
    p95Ms: percentile(shares, 0.95),
  };
}

/**
 * Returns a percentile of the detection delay, in milliseconds.
 * @param fraction from 0 to 1: 0.95 for the 95th percentile
 */
function percentile(shares: readonly Share[], fraction: number): number {
  const wanted = totalPerSecond(shares) * fraction;
  let low = 0;
  let high = Math.max(...shares.map(({ intervalMs }) => intervalMs));
  while (high - low > 0.5) {
    const middle = (low + high) / 2;
    const found = shares.reduce(
      (sum, { perSecond, intervalMs }) => sum + perSecond * Math.min(middle / intervalMs, 1),
      0,
    );
    if (found < wanted) low = middle;
    else high = middle;
  }
  return Math.round(high);
}

/** Returns the number of new messages per second that all contacts together have. */
function totalPerSecond(shares: readonly Share[]): number {
  return shares.reduce((sum, { perSecond }) => sum + perSecond, 0);
}
