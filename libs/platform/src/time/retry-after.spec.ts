import { describe, expect, it } from '@jest/globals';
import { parseRetryAfter } from './retry-after.js';

const NOW = Date.UTC(2026, 0, 1, 12);

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['7', 7_000],
    [' 120 ', 120_000],
    ['45.5', 45_500],
    ['0.0001', 1],
    ['Thu, 01 Jan 2026 12:00:30 GMT', 30_000],
    ['Thursday, 01-Jan-26 12:00:30 GMT', 30_000],
    ['Thu, 01 Jan 2026 11:00:00 GMT', 0],
    ['999999999999', 86_400_000],
    ['Fri, 01 Jan 2100 00:00:00 GMT', 86_400_000],
  ])('with the value %p is parsed to a wait of %d ms, which is at most a day', (header, ms) => {
    expect(parseRetryAfter(header, NOW)).toBe(ms);
  });

  it.each([undefined, '', 'soon', '-5', '1.5.5', '1.', '7s', 'Someday, never'])(
    'with the missing or invalid value %p is ignored',
    (header) => {
      expect(parseRetryAfter(header, NOW)).toBeUndefined();
    },
  );
});
