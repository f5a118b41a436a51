import { describe, expect, it } from '@jest/globals';
import { pollOutlook } from './poll-outlook.js';
import { bucketOf } from './rate-histogram.js';

const interval = { minMs: 2_000, maxMs: 300_000 };
/** 900 contacts that change once a day, and 100 in conversation. */
const rates = new Map([
  [bucketOf(1 / 86_400), 900],
  [bucketOf(1 / 30), 100],
]);

describe('the outlook of an account', () => {
  it('tells the delay with half the budget, the same and twice as much: more never makes it later', () => {
    const { forecast } = pollOutlook(
      { contacts: 1_000, rates, interval },
      { requestsPerSecond: 20, allowed: 20, usedByOthers: 0 },
    );
    expect(forecast.map(({ requestsPerSecond }) => requestsPerSecond)).toEqual([10, 20, 40]);
    const [half = NaN, same = NaN, twice = NaN] = forecast.map(({ p95Ms }) => p95Ms);
    expect(half).toBeGreaterThan(same);
    expect(same).toBeGreaterThan(twice);
    expect(twice).toBeGreaterThan(0);
  });

  it('names a longer interval than the maximum where the budget does not allow that', () => {
    const at = (requestsPerSecond: number): number =>
      pollOutlook(
        { contacts: 1_000, rates, interval },
        { requestsPerSecond, allowed: requestsPerSecond, usedByOthers: 0 },
      ).longestIntervalMs ?? NaN;
    expect(at(100)).toBeLessThanOrEqual(interval.maxMs);
    // A thousand contacts at one request a second: none of them can be read every five minutes.
    expect(at(1)).toBeGreaterThanOrEqual(1_000_000);
  });

  it('takes what sends and callers use off the budget, and leaves polls a fifth all the same', () => {
    const p95 = (usedByOthers: number): number =>
      pollOutlook({ contacts: 1_000, rates, interval }, { requestsPerSecond: 20, allowed: 20, usedByOthers })
        .forecast[1]?.p95Ms ?? NaN;
    expect(p95(10)).toBeGreaterThan(p95(0));
    expect(p95(10)).toBe(
      pollOutlook(
        { contacts: 1_000, rates, interval },
        { requestsPerSecond: 10, allowed: 10, usedByOthers: 0 },
      ).forecast[1]?.p95Ms,
    );
    expect(p95(1_000)).toBe(p95(16));
  });

  it('goes by what may leave where upstream refused the whole budget', () => {
    const p95 = (requestsPerSecond: number, allowed: number): unknown =>
      pollOutlook({ contacts: 1_000, rates, interval }, { requestsPerSecond, allowed, usedByOthers: 0 })
        .forecast[1]?.p95Ms;
    expect(p95(20, 5)).toBe(p95(5, 5));
  });

  it('counts contacts that nobody has read yet in', () => {
    const unread = pollOutlook(
      { contacts: 1_000, rates: new Map(), interval },
      { requestsPerSecond: 1, allowed: 1, usedByOthers: 0 },
    );
    expect(unread.longestIntervalMs).toBeGreaterThanOrEqual(1_000_000);
    expect(unread.forecast[1]?.p95Ms).toBeGreaterThan(0);
  });

  it.each([
    ['there are no contacts', { contacts: 0, rates: new Map<number, number>(), interval }],
    ['no worker has polled yet', { contacts: 5, rates: new Map<number, number>() }],
  ])('is unknown while %s', (_, overview) => {
    expect(pollOutlook(overview, { requestsPerSecond: 10, allowed: 10, usedByOthers: 0 })).toEqual({
      forecast: [{ requestsPerSecond: 5 }, { requestsPerSecond: 10 }, { requestsPerSecond: 20 }],
    });
  });
});
