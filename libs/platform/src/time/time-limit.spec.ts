import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { TimeLimit } from './time-limit.js';

afterEach(() => {
  jest.restoreAllMocks();
});

/** Shifts a clock by a constant from now on. */
function shift(clock: typeof Date | typeof performance, ms: number): void {
  const real = clock.now.bind(clock);
  jest.spyOn(clock, 'now').mockImplementation(() => real() + ms);
}

describe('a time limit', () => {
  it('is not over when it is created', () => {
    expect(new TimeLimit(60_000).isOver()).toBe(false);
  });

  it.each([
    ['more time than the limit has passed', performance],
    ['the machine was suspended for longer than the limit', Date],
  ])('is over when %s', (_, clock) => {
    const limit = new TimeLimit(60_000);
    shift(clock, 61_000);
    expect(limit.isOver()).toBe(true);
  });

  it('does not become longer when the wall clock is set back', () => {
    const limit = new TimeLimit(60_000);
    shift(Date, -3_600_000);
    expect(limit.isOver()).toBe(false);
    shift(performance, 61_000);
    expect(limit.isOver()).toBe(true);
  });
});
