import { expect, it } from '@jest/globals';
import { MetricLabelValueLimiter } from './metric-label-value-limiter.js';

it('a metric label has a limited number of different values; "other" replaces every further value', () => {
  const label = new MetricLabelValueLimiter(2);
  expect(['a', 'b', 'c', 'a', 'd'].map((value) => label.valueOf(value))).toEqual([
    'a',
    'b',
    'other',
    'a',
    'other',
  ]);
});
