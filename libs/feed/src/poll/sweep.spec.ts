import { expect, it } from '@jest/globals';
import { isSweepDue } from './sweep.js';

const HOUR_MS = 3_600_000;

it('a sweep is due after the configured time; if messages are misplaced, a sweep is due after at most an hour', () => {
  const isDue = (afterMs: number, sweepMs: number, hasMisplacedMessages?: boolean): boolean =>
    isSweepDue({ completeAt: 5 }, hasMisplacedMessages ? { hasMisplacedMessages } : {}, 5 + afterMs, sweepMs);
  expect(isDue(24 * HOUR_MS - 1, 24 * HOUR_MS)).toBe(false);
  expect(isDue(24 * HOUR_MS, 24 * HOUR_MS)).toBe(true);
  expect(isDue(HOUR_MS - 1, 24 * HOUR_MS, true)).toBe(false);
  expect(isDue(HOUR_MS, 24 * HOUR_MS, true)).toBe(true);
  expect(isDue(1_000, 1_000, true)).toBe(true);
});

it('a sweep is due if no read has read all pages of the contact yet', () => {
  expect(isSweepDue({}, {}, 0, HOUR_MS)).toBe(true);
});
