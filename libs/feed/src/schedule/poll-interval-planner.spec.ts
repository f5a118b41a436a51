import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PollIntervalPlanner } from './poll-interval-planner.js';
import { planPollIntervals } from './intervals.js';
import { messageRateBucketIndexOf } from './rate-histogram.js';

const BOUNDS = { minMs: 2_000, maxMs: 300_000 };

/** Returns a planner for contacts with equal rates, and a counter of the reads of the rates. */
function plannerOf(
  contacts: number,
  perSecond = 0.01,
): { planner: PollIntervalPlanner; asked: () => number } {
  let asked = 0;
  const ratesOf = (): Promise<{ rates: Map<number, number>; contacts: number }> => {
    asked += 1;
    return Promise.resolve({ rates: new Map([[messageRateBucketIndexOf(perSecond), contacts]]), contacts });
  };
  return { planner: new PollIntervalPlanner(ratesOf, BOUNDS), asked: () => asked };
}

describe('the planned poll interval of an account', () => {
  it('is the configured minimum if the budget allows that for all contacts; the message rates are then not read', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 1_000 }),
        fc.double({ min: 1e-6, max: 10, noNaN: true }),
        fc.double({ min: 1, max: 3, noNaN: true }),
        async (contacts, perSecond, spare) => {
          const budget = ((contacts * 1_000) / BOUNDS.minMs) * spare;
          const { planner, asked } = plannerOf(contacts, perSecond);
          const plan = await planner.planOf('a', budget, contacts);
          expect(asked()).toBe(0);
          const solved = planPollIntervals(
            new Map([[messageRateBucketIndexOf(perSecond), contacts]]),
            budget,
            BOUNDS,
          );
          expect(plan.intervalMs(perSecond)).toBe(solved.intervalMs(perSecond));
          expect(plan.budgetAllowsMaxMs).toBe(solved.budgetAllowsMaxMs);
        },
      ),
    );
  });

  it('is computed from the message rates and cached if the budget does not allow the configured minimum', async () => {
    const { planner, asked } = plannerOf(100);
    const plan = await planner.planOf('a', 10, 100);
    expect(plan.intervalMs(0.01)).toBeGreaterThan(BOUNDS.minMs);
    expect(await planner.planOf('a', 10, 100)).toBe(plan);
    expect(asked()).toBe(1);
  });
});
