import { expect, it } from '@jest/globals';
import { BoundedLabel } from './bounded-label.js';

it('a label keeps its first values, and all later ones share the value other', () => {
  const label = new BoundedLabel(2);
  expect(['a', 'b', 'c', 'a', 'd'].map((value) => label.valueOf(value))).toEqual([
    'a',
    'b',
    'other',
    'a',
    'other',
  ]);
});
