import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { planPollIntervals } from './intervals.js';
import {
  MESSAGE_RATE_BUCKET_COUNT,
  type RateHistogram,
  representativeRateOfBucket,
} from './rate-histogram.js';

const BOUNDS = { minMs: 2_000, maxMs: 300_000 };
const histograms: fc.Arbitrary<RateHistogram> = fc
  .array(fc.tuple(fc.nat(MESSAGE_RATE_BUCKET_COUNT - 1), fc.integer({ min: 1, max: 20_000 })), {
    minLength: 1,
    maxLength: 64,
  })
  .map((entries) => new Map(entries));
const budgets = fc.double({ min: 0.01, max: 500, noNaN: true });

const contactsOf = (histogram: RateHistogram): number =>
  [...histogram.values()].reduce((sum, n) => sum + n, 0);

/** Returns the requests per second that a plan costs. */
function costOf(histogram: RateHistogram, intervalMs: (rate: number) => number): number {
  return [...histogram].reduce(
    (sum, [bucket, n]) => sum + (n * 1000) / intervalMs(representativeRateOfBucket(bucket)),
    0,
  );
}

describe('the planned poll intervals', () => {
  it('use the whole budget, unless every contact has the minimum interval', () => {
    fc.assert(
      fc.property(histograms, budgets, (histogram, budget) => {
        const { intervalMs } = planPollIntervals(histogram, budget, BOUNDS);
        const cost = costOf(histogram, intervalMs);
        expect(cost).toBeLessThan(budget * 1.002);
        const all = [...histogram.keys()].every(
          (bucket) => intervalMs(representativeRateOfBucket(bucket)) === BOUNDS.minMs,
        );
        if (!all) expect(cost).toBeGreaterThan(budget * 0.998);
      }),
    );
  });

  it('are never longer for a contact with a higher message rate', () => {
    fc.assert(
      fc.property(histograms, budgets, (histogram, budget) => {
        const { intervalMs } = planPollIntervals(histogram, budget, BOUNDS);
        const intervals = Array.from({ length: 200 }, (_, n) => intervalMs(1e-9 * 1.15 ** n));
        expect(intervals).toEqual([...intervals].sort((a, b) => b - a));
      }),
    );
  });

  it('are at least the configured minimum, and at most 25 % longer than if all contacts were polled equally often', () => {
    fc.assert(
      fc.property(histograms, budgets, fc.double({ min: 0, max: 1e3 }), (histogram, budget, rate) => {
        const { intervalMs } = planPollIntervals(histogram, budget, BOUNDS);
        const equal = (contactsOf(histogram) / budget) * 1000;
        expect(intervalMs(rate)).toBeGreaterThanOrEqual(BOUNDS.minMs);
        expect(intervalMs(rate)).toBeLessThanOrEqual(Math.max(1.25 * equal, BOUNDS.minMs) + 1);
      }),
    );
  });

  it('do not exceed the configured maximum if the budget is at least 10 % above the cost of polling all contacts at that maximum', () => {
    fc.assert(
      fc.property(histograms, budgets, (histogram, budget) => {
        const { intervalMs, budgetAllowsMaxMs } = planPollIntervals(histogram, budget, BOUNDS);
        const longest = Math.max(
          ...[...histogram.keys()].map((bucket) => intervalMs(representativeRateOfBucket(bucket))),
        );
        expect(budgetAllowsMaxMs).toBe(longest);
        if ((1.1 * contactsOf(histogram)) / budget <= BOUNDS.maxMs / 1000) {
          expect(intervalMs(0)).toBeLessThanOrEqual(BOUNDS.maxMs);
        }
      }),
    );
  });

  it('are half as long for a contact with four times the message rate of another contact, if both intervals are short', () => {
    const histogram = new Map([
      [40, 20],
      [45, 20],
    ]);
    const { intervalMs } = planPollIntervals(histogram, 30, { minMs: 1, maxMs: 1e9 });
    expect(intervalMs(0.04) / intervalMs(0.16)).toBeCloseTo(2, 1);
  });

  it('are short for a few busy contacts among many silent ones', () => {
    const histogram = new Map([
      [4, 9_990],
      [44, 10],
    ]);
    const { intervalMs } = planPollIntervals(histogram, 50, BOUNDS);
    expect(intervalMs(representativeRateOfBucket(44))).toBeLessThan(6_000);
  });

  it('leave enough requests for contacts whose message rate is not known yet', () => {
    const whole = planPollIntervals(new Map([[10, 1_000]]), 10, BOUNDS);
    const half = planPollIntervals(new Map([[10, 500]]), 10, BOUNDS, {
      contacts: 500,
      perSecond: representativeRateOfBucket(10),
    });
    expect(half.intervalMs(representativeRateOfBucket(10))).toBe(
      whole.intervalMs(representativeRateOfBucket(10)),
    );
    expect(half.budgetAllowsMaxMs).toBe(whole.budgetAllowsMaxMs);
  });

  it('equal the configured minimum if there are no contacts', () => {
    expect(planPollIntervals(new Map(), 10, BOUNDS).intervalMs(1e-6)).toBe(BOUNDS.minMs);
    expect(planPollIntervals(new Map(), 10, BOUNDS).budgetAllowsMaxMs).toBe(BOUNDS.minMs);
  });
});
