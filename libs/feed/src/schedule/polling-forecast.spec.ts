import { describe, expect, it } from '@jest/globals';
import { forecastPolling } from './polling-forecast.js';
import { messageRateBucketIndexOf } from './rate-histogram.js';

const interval = { minMs: 2_000, maxMs: 300_000 };
/** 900 contacts with one message per day, and 100 contacts with one message per 30 seconds. */
const rates = new Map([
  [messageRateBucketIndexOf(1 / 86_400), 900],
  [messageRateBucketIndexOf(1 / 30), 100],
]);

describe('the polling forecast of an account', () => {
  it('contains delays for half, the whole and twice the budget; a larger budget gives shorter delays', () => {
    const { forecast } = forecastPolling(
      { contacts: 1_000, rates, interval },
      { requestsPerSecond: 20, allowed: 20, usedByOthers: 0 },
    );
    expect(forecast.map(({ requestsPerSecond }) => requestsPerSecond)).toEqual([10, 20, 40]);
    const [half = NaN, same = NaN, twice = NaN] = forecast.map(({ p95Ms }) => p95Ms);
    expect(half).toBeGreaterThan(same);
    expect(same).toBeGreaterThan(twice);
    expect(twice).toBeGreaterThan(0);
  });

  it('says that the longest poll interval exceeds the configured maximum if the budget is too small for that maximum', () => {
    const at = (requestsPerSecond: number): number =>
      forecastPolling(
        { contacts: 1_000, rates, interval },
        { requestsPerSecond, allowed: requestsPerSecond, usedByOthers: 0 },
      ).longestIntervalMs ?? NaN;
    expect(at(100)).toBeLessThanOrEqual(interval.maxMs);
    // A thousand contacts at one request per second: none can be read every five minutes.
    expect(at(1)).toBeGreaterThanOrEqual(1_000_000);
  });

  it('subtracts requests other than polls from the budget, but leaves at least a fifth of the budget to polls', () => {
    const p95 = (usedByOthers: number): number =>
      forecastPolling(
        { contacts: 1_000, rates, interval },
        { requestsPerSecond: 20, allowed: 20, usedByOthers },
      ).forecast[1]?.p95Ms ?? NaN;
    expect(p95(10)).toBeGreaterThan(p95(0));
    expect(p95(10)).toBe(
      forecastPolling(
        { contacts: 1_000, rates, interval },
        { requestsPerSecond: 10, allowed: 10, usedByOthers: 0 },
      ).forecast[1]?.p95Ms,
    );
    expect(p95(1_000)).toBe(p95(16));
  });

  it('uses the reduced budget while upstream throttles requests', () => {
    const p95 = (requestsPerSecond: number, allowed: number): unknown =>
      forecastPolling({ contacts: 1_000, rates, interval }, { requestsPerSecond, allowed, usedByOthers: 0 })
        .forecast[1]?.p95Ms;
    expect(p95(20, 5)).toBe(p95(5, 5));
  });

  it('includes contacts that were never read', () => {
    const unread = forecastPolling(
      { contacts: 1_000, rates: new Map(), interval },
      { requestsPerSecond: 1, allowed: 1, usedByOthers: 0 },
    );
    expect(unread.longestIntervalMs).toBeGreaterThanOrEqual(1_000_000);
    expect(unread.forecast[1]?.p95Ms).toBeGreaterThan(0);
  });

  it.each([
    ['there are no contacts', { contacts: 0, rates: new Map<number, number>(), interval }],
    ['no worker has polled yet', { contacts: 5, rates: new Map<number, number>() }],
  ])('contains no delays if %s', (_, overview) => {
    expect(forecastPolling(overview, { requestsPerSecond: 10, allowed: 10, usedByOthers: 0 })).toEqual({
      forecast: [{ requestsPerSecond: 5 }, { requestsPerSecond: 10 }, { requestsPerSecond: 20 }],
    });
  });
});
