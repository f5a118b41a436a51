import { expect, it } from '@jest/globals';
import { BoundedMetricLabel } from './bounded-metric-label.js';

it('a metric label keeps a limited number of different values; every further value is replaced by "other"', () => {
  const label = new BoundedMetricLabel(2);
  expect(['a', 'b', 'c', 'a', 'd'].map((value) => label.valueOf(value))).toEqual([
    'a',
    'b',
    'other',
    'a',
    'other',
  ]);
});
