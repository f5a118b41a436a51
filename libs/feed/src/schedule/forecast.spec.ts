import { describe, expect, it } from '@jest/globals';
import { forecastDetectionDelay } from './forecast.js';

const BOUNDS = { minMs: 2_000, maxMs: 300_000 };

describe('the forecast of detection delays', () => {
  it('contains delays spread evenly from 0 to the polling interval if all contacts have the same message rate', () => {
    const forecast = forecastDetectionDelay(new Map([[20, 1_000]]), 10, BOUNDS);
    expect(forecast?.meanMs).toBeCloseTo(50_000, -2);
    expect(forecast?.p50Ms).toBeCloseTo(50_000, -2);
    expect(forecast?.p95Ms).toBeCloseTo(95_000, -2);
  });

  it('has shorter delays with twice the budget and longer delays with half the budget', () => {
    const histogram = new Map([
      [10, 1_000],
      [30, 100],
      [45, 10],
    ]);
    const [half, same, twice] = [5, 10, 20].map((budget) =>
      forecastDetectionDelay(histogram, budget, BOUNDS),
    );
    for (const key of ['meanMs', 'p50Ms', 'p95Ms'] as const) {
      expect(half?.[key]).toBeGreaterThan(same?.[key] ?? Infinity);
      expect(same?.[key]).toBeGreaterThan(twice?.[key] ?? Infinity);
    }
  });

  it('gives more weight to contacts with a higher message rate', () => {
    const forecast = forecastDetectionDelay(
      new Map([
        [5, 1_000],
        [48, 10],
      ]),
      10,
      BOUNDS,
    );
    expect(forecast?.p50Ms).toBeLessThan(5_000);
  });

  it('is undefined if there are no contacts', () => {
    expect(forecastDetectionDelay(new Map(), 10, BOUNDS)).toBeUndefined();
  });
});
