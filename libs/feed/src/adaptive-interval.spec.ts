import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { intervalFor, recordActivity, shareOf } from './adaptive-interval.js';

const HALF_LIFE = 6 * 3_600_000;
const BOUNDS = { min: 2_000, max: 300_000 };
const WIDE = { min: 1, max: 1e12 };

describe('the interval of a contact', () => {
  it('follows the square root of its rate: four times the changes, twice the reads', () => {
    const share = (changes: number): number => shareOf({ weight: changes - 0.05, at: 0 });
    const shares = share(16) + share(4) + share(1);
    const [often, now, seldom] = [16, 4, 1].map((n) => intervalFor(share(n), shares, 1, WIDE)) as [
      number,
      number,
      number,
    ];
    expect(now / often).toBeCloseTo(2, 1);
    expect(seldom / now).toBeCloseTo(2, 1);
  });

  it('of all contacts together costs what polling may cost', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1_000, noNaN: true }), { minLength: 1, maxLength: 50 }),
        fc.double({ min: 0.1, max: 100, noNaN: true }),
        (weights, readsPerSecond) => {
          const shares = weights.map((weight) => shareOf({ weight, at: 0 }));
          const sum = shares.reduce((total, share) => total + share, 0);
          const reads = shares.map((share) => 1_000 / intervalFor(share, sum, readsPerSecond, WIDE));
          const cost = reads.reduce((total, each) => total + each, 0);
          expect(Math.abs(cost / readsPerSecond - 1)).toBeLessThan(0.06);
        },
      ),
    );
  });

  it('keeps its bounds, whatever the figures', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        fc.double({ min: 0.001, max: 1e4, noNaN: true }),
        (weight, others, readsPerSecond) => {
          const share = shareOf({ weight, at: 0 });
          const interval = intervalFor(share, others, readsPerSecond, BOUNDS);
          expect(interval).toBeGreaterThanOrEqual(BOUNDS.min);
          expect(interval).toBeLessThanOrEqual(BOUNDS.max);
        },
      ),
    );
  });
});

describe('the rate of a contact', () => {
  it('counts changes, and halves in six hours', () => {
    const first = recordActivity(undefined, 4, 1_000);
    expect(first).toEqual({ weight: 4, at: 1_000 });
    expect(recordActivity(first, 0, 1_000 + HALF_LIFE).weight).toBeCloseTo(2);
    expect(recordActivity(first, 1, 1_000 + 2 * HALF_LIFE).weight).toBeCloseTo(2);
  });

  it('does not rise by a clock that goes back', () => {
    expect(recordActivity({ weight: 4, at: 10_000 }, 0, 0).weight).toBe(4);
  });

  it('that was never any still gives a share', () => {
    expect(shareOf({ weight: 0, at: 0 })).toBeGreaterThan(0);
  });
});
