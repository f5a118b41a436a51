import { expect, it } from '@jest/globals';
import { truncateText } from './truncate-text.js';

it('a truncated text never ends with half of a surrogate pair; U+FFFD replaces the half', () => {
  expect(truncateText('abc', 2)).toBe('ab');
  expect(truncateText('a😀', 3)).toBe('a😀');
  expect(truncateText('a😀', 2)).toBe('a\uFFFD');
});
