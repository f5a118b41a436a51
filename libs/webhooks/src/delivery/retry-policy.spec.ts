import { describe, expect, it } from '@jest/globals';
import { type AttemptOutcome, decideNextDeliveryStep, throttlingAfterAttempt } from './retry-policy.js';

const now = Date.parse('2026-01-01T00:00:00Z');
const policy = { scheduleSeconds: [5, 300], random: () => 0.5 };
const outcome = (statusCode: number | null, rest: Partial<AttemptOutcome> = {}): AttemptOutcome => ({
  statusCode,
  retryAfter: null,
  error: null,
  ...rest,
});

describe('the decision after an attempt of a delivery', () => {
  it.each([200, 201, 204, 299])('is success for status %d', (status) => {
    expect(decideNextDeliveryStep(policy, 1, outcome(status), now)).toEqual({ kind: 'succeeded' });
  });

  it.each([100, 301, 302, 307, 308, 400, 401, 404, 429, 500, 503])('is a retry for status %d', (status) => {
    expect(decideNextDeliveryStep(policy, 1, outcome(status), now)).toEqual({ kind: 'retry', waitMs: 5_000 });
  });

  it('is a retry for a 2xx status whose body timed out', () => {
    expect(decideNextDeliveryStep(policy, 1, outcome(200, { error: 'late' }), now).kind).toBe('retry');
  });

  it('is a retry after the next wait of the schedule, and failure when the schedule has no wait left', () => {
    const broken = outcome(null, { error: 'ECONNREFUSED' });
    expect(decideNextDeliveryStep(policy, 1, broken, now)).toEqual({ kind: 'retry', waitMs: 5_000 });
    expect(decideNextDeliveryStep(policy, 2, broken, now)).toEqual({ kind: 'retry', waitMs: 300_000 });
    expect(decideNextDeliveryStep(policy, 3, broken, now)).toEqual({
      kind: 'failed',
      reason: 'Attempt 3 of 3 failed: ECONNREFUSED.',
    });
  });

  it('varies each wait of the schedule at random by up to 20 %', () => {
    const waits = [0, 0.999_999_9].map((n) =>
      decideNextDeliveryStep({ ...policy, random: () => n }, 2, outcome(500), now),
    );
    expect(waits).toEqual([
      { kind: 'retry', waitMs: 240_000 },
      { kind: 'retry', waitMs: 360_000 },
    ]);
  });

  it('is the final failure for status 410, even if the schedule has waits left', () => {
    expect(decideNextDeliveryStep(policy, 1, outcome(410), now).kind).toBe('gone');
    expect(decideNextDeliveryStep(policy, 1, outcome(410, { error: 'body cut' }), now).kind).toBe('gone');
  });

  it.each([429, 503])(
    'for status %d is a retry after the wait in the Retry-After header, given in seconds or as a date',
    (status) => {
      for (const retryAfter of ['60', ' 60 ', 'Thu, 01 Jan 2026 00:01:00 GMT']) {
        expect(decideNextDeliveryStep(policy, 1, outcome(status, { retryAfter }), now)).toEqual({
          kind: 'retry',
          waitMs: 60_000,
          requestedMs: 60_000,
        });
      }
    },
  );

  it('uses the wait in Retry-After (at most one day) only for status 429 or 503, and only if that wait is longer than the scheduled wait', () => {
    const wait = (status: number, retryAfter: string): unknown =>
      decideNextDeliveryStep(policy, 1, outcome(status, { retryAfter }), now);
    expect(wait(429, '1')).toEqual({ kind: 'retry', waitMs: 5_000, requestedMs: 1_000 });
    expect(wait(429, 'Wed, 31 Dec 2025 00:00:00 GMT')).toEqual({ kind: 'retry', waitMs: 5_000 });
    expect(wait(429, '45.5')).toEqual({ kind: 'retry', waitMs: 45_500, requestedMs: 45_500 });
    expect(wait(429, '2045')).toEqual({ kind: 'retry', waitMs: 2_045_000, requestedMs: 2_045_000 });
    expect(wait(429, 'soon')).toEqual({ kind: 'retry', waitMs: 5_000 });
    expect(wait(429, '99999999999999999999')).toEqual({
      kind: 'retry',
      waitMs: 86_400_000,
      requestedMs: 86_400_000,
    });
    expect(wait(500, '60')).toEqual({ kind: 'retry', waitMs: 5_000 });
  });
});

describe('the throttling after an attempt', () => {
  it.each([
    [429, true],
    [502, true],
    [504, true],
    [500, false],
    [503, false],
    [204, false],
    [null, false],
  ])('decides for status %s whether further requests are slowed down: %s', (status, slowsDown) => {
    expect(throttlingAfterAttempt(outcome(status), now)).toEqual({ slowsDown, pauseMs: 0 });
  });

  it('pauses the webhook for the time in the Retry-After header of a 429 reply, but at most an hour; other statuses cause no pause', () => {
    const pauseMs = (status: number, retryAfter: string): number =>
      throttlingAfterAttempt(outcome(status, { retryAfter }), now).pauseMs;
    expect(pauseMs(429, '60')).toBe(60_000);
    expect(pauseMs(429, '86400')).toBe(3_600_000);
    expect(pauseMs(503, '60')).toBe(0);
  });
});
