import { describe, expect, it } from '@jest/globals';
import { type AttemptOutcome, decide } from './retry-policy.js';

const now = Date.parse('2026-01-01T00:00:00Z');
const policy = { scheduleSeconds: [5, 300], random: () => 0.5 };
const outcome = (statusCode: number | null, rest: Partial<AttemptOutcome> = {}): AttemptOutcome => ({
  statusCode,
  retryAfter: null,
  error: null,
  ...rest,
});

describe('after an attempt', () => {
  it.each([200, 201, 204, 299])('%d is success', (status) => {
    expect(decide(policy, 1, outcome(status), now)).toEqual({ kind: 'succeeded' });
  });

  it.each([100, 301, 302, 307, 308, 400, 401, 404, 429, 500, 503])('%d is tried again', (status) => {
    expect(decide(policy, 1, outcome(status), now)).toEqual({ kind: 'retry', waitMs: 5_000 });
  });

  it('a 2xx whose body did not end in time is tried again', () => {
    expect(decide(policy, 1, outcome(200, { error: 'late' }), now).kind).toBe('retry');
  });

  it('the schedule says how long to wait, and its end is failure', () => {
    const broken = outcome(null, { error: 'ECONNREFUSED' });
    expect(decide(policy, 1, broken, now)).toEqual({ kind: 'retry', waitMs: 5_000 });
    expect(decide(policy, 2, broken, now)).toEqual({ kind: 'retry', waitMs: 300_000 });
    expect(decide(policy, 3, broken, now)).toEqual({
      kind: 'failed',
      reason: 'The last of 3 attempts failed: ECONNREFUSED.',
    });
  });

  it('waits are spread by 20 % to either side', () => {
    const waits = [0, 0.999_999_9].map((n) => decide({ ...policy, random: () => n }, 2, outcome(500), now));
    expect(waits).toEqual([
      { kind: 'retry', waitMs: 240_000 },
      { kind: 'retry', waitMs: 360_000 },
    ]);
  });

  it('410 is the end, whatever the schedule says', () => {
    expect(decide(policy, 1, outcome(410), now).kind).toBe('gone');
    expect(decide(policy, 1, outcome(410, { error: 'body cut' }), now).kind).toBe('gone');
  });

  it.each([429, 503])('Retry-After of %d is kept, as seconds and as a date', (status) => {
    for (const retryAfter of ['60', ' 60 ', 'Thu, 01 Jan 2026 00:01:00 GMT']) {
      expect(decide(policy, 1, outcome(status, { retryAfter }), now)).toEqual({
        kind: 'retry',
        waitMs: 60_000,
      });
    }
  });

  it('Retry-After shortens no wait, lasts at most a day, and counts only with 429 and 503', () => {
    const wait = (status: number, retryAfter: string): unknown =>
      decide(policy, 1, outcome(status, { retryAfter }), now);
    expect(wait(429, '1')).toEqual({ kind: 'retry', waitMs: 5_000 });
    expect(wait(429, 'Wed, 31 Dec 2025 00:00:00 GMT')).toEqual({ kind: 'retry', waitMs: 5_000 });
    expect(wait(429, '45.5')).toEqual({ kind: 'retry', waitMs: 45_500 });
    expect(wait(429, '2045')).toEqual({ kind: 'retry', waitMs: 2_045_000 });
    expect(wait(429, 'soon')).toEqual({ kind: 'retry', waitMs: 5_000 });
    expect(wait(429, '99999999999999999999')).toEqual({ kind: 'retry', waitMs: 86_400_000 });
    expect(wait(500, '60')).toEqual({ kind: 'retry', waitMs: 5_000 });
  });
});
