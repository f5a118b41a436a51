import { expect, it } from '@jest/globals';
import { beginningOf } from './beginning-of.js';

it('the beginning of a text never ends with half of a surrogate pair; U+FFFD replaces the half', () => {
  expect(beginningOf('abc', 2)).toBe('ab');
  expect(beginningOf('a😀', 3)).toBe('a😀');
  expect(beginningOf('a😀', 2)).toBe('a\uFFFD');
});
