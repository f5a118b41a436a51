import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  DELAY_BUCKET_WIDTH_RATIO,
  delayBucketIndexOf,
  countDelays,
  type DelayHistogram,
  representativeDelayOfBucket,
  LAST_DELAY_BUCKET_INDEX,
  mergeDelayHistograms,
  delayPercentiles,
} from './delay-histogram.js';

const DAY_MS = 86_400_000;
/**
 * Maximum relative error of a percentile: a bucket is represented by the geometric mean of its bounds. Tests add half
 * a millisecond for rounding.
 */
const ERROR = Math.sqrt(DELAY_BUCKET_WIDTH_RATIO) - 1;

const delays = fc.array(fc.double({ min: 11, max: DAY_MS, noNaN: true }), { minLength: 1, maxLength: 200 });

function histogramOf(values: readonly number[]): DelayHistogram {
  return mergeDelayHistograms(values.map((value) => new Map([[delayBucketIndexOf(value), 1]])));
}

describe('a histogram of delays', () => {
  it('represents a delay from 10 ms to a day with an error of at most 7.3 %', () => {
    fc.assert(
      fc.property(fc.double({ min: 10.1, max: DAY_MS, noNaN: true }), (delay) => {
        expect(
          Math.abs(representativeDelayOfBucket(delayBucketIndexOf(delay)) / delay - 1),
        ).toBeLessThanOrEqual(ERROR + 1e-9);
      }),
    );
    expect(ERROR).toBeLessThan(0.073);
  });

  it('has a limited number of buckets, however long a delay is', () => {
    expect([-DAY_MS, 0, 10].map(delayBucketIndexOf)).toEqual([0, 0, 0]);
    expect(delayBucketIndexOf(Number.MAX_VALUE)).toBe(LAST_DELAY_BUCKET_INDEX);
  });

  it('never assigns a longer delay to a lower bucket', () => {
    const delay = fc.double({ min: -1_000, max: 2 * DAY_MS, noNaN: true });
    fc.assert(
      fc.property(delay, delay, (a, b) => {
        expect(delayBucketIndexOf(Math.min(a, b))).toBeLessThanOrEqual(delayBucketIndexOf(Math.max(a, b)));
      }),
    );
  });

  it('returns percentiles with an error of at most 7.3 %', () => {
    const quantile = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(delays, quantile, (values, q) => {
        const sorted = values.toSorted((a, b) => a - b);
        const exact = sorted[Math.max(Math.ceil(q * values.length), 1) - 1] ?? NaN;
        const [found = NaN] = delayPercentiles(histogramOf(values), [q]);
        expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact * ERROR + 0.5 + 1e-6);
      }),
    );
  });

  it('returns percentiles that never fall as the quantile rises', () => {
    const quantiles = Array.from({ length: 21 }, (_, n) => n / 20);
    fc.assert(
      fc.property(delays, (values) => {
        const found = delayPercentiles(histogramOf(values), quantiles).map(Number);
        expect(found).toEqual(found.toSorted((a, b) => a - b));
      }),
    );
  });

  it('that was merged from two histograms contains the delays of both', () => {
    fc.assert(
      fc.property(delays, delays, (a, b) => {
        const merged = mergeDelayHistograms([histogramOf(a), histogramOf(b)]);
        expect(merged).toEqual(histogramOf([...a, ...b]));
        expect(countDelays(merged)).toBe(a.length + b.length);
      }),
    );
  });

  it('returns no percentiles if it contains no delays', () => {
    expect(delayPercentiles(new Map(), [0.5, 0.95])).toEqual([undefined, undefined]);
  });
});
