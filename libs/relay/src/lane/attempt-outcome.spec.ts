import { describe, expect, it } from '@jest/globals';
import {
  UpstreamConnectionLostError,
  UpstreamIsTidingsError,
  UpstreamReplyUnreadableError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnreachableError,
} from '#upstream';
import { classifyPostError, retryWaitMs } from './attempt-outcome.js';

const status = (code: number): UpstreamStatusError => new UpstreamStatusError(code, 'words', undefined);

describe('an attempt of a send', () => {
  it.each([
    ['no connection', new UpstreamUnreachableError('ENOTFOUND'), 'not_taken'],
    ['429', status(429), 'not_taken'],
    ['401', status(401), 'not_taken'],
    ...[400, 403, 404, 413, 415, 422].map((code) => [String(code), status(code), 'refused'] as const),
    ...[301, 302, 307, 402, 405, 408, 409, 500, 502, 503, 504].map(
      (code) => [String(code), status(code), 'ambiguous'] as const,
    ),
    ['a refusal by a Tidings gateway', new UpstreamIsTidingsError(false), 'not_taken'],
    ['200 from a Tidings gateway', new UpstreamIsTidingsError(true), 'ambiguous'],
    ['a timeout', new UpstreamTimeoutError(10), 'ambiguous'],
    ['a connection reset', new UpstreamConnectionLostError('ECONNRESET'), 'ambiguous'],
    ['200 with an unreadable body', new UpstreamReplyUnreadableError('not JSON'), 'ambiguous'],
  ] as const)('that ended with %s has the outcome %s', (_, error, outcome) => {
    expect(classifyPostError(error, [429])).toMatchObject({ outcome, error: error.message });
  });

  it('has the outcome not_taken if its HTTP status is configured as safe to retry; otherwise, even 429 is ambiguous', () => {
    expect(classifyPostError(status(503), [429, 503]).outcome).toBe('not_taken');
    expect(classifyPostError(status(429), []).outcome).toBe('ambiguous');
  });

  it('has a result with the HTTP status, the error and the wait that upstream requested with Retry-After', () => {
    expect(classifyPostError(new UpstreamStatusError(429, 'slow', 7_000), [429])).toEqual({
      outcome: 'not_taken',
      httpStatus: 429,
      error: 'upstream answered 429: slow',
      retryAfterMs: 7_000,
    });
  });

  it('is not classified if its error does not come from an upstream request; the error is rethrown', () => {
    const error = new Error('a bug of the gateway');
    expect(() => classifyPostError(error, [429])).toThrow(error);
  });
});

describe('the wait before the next attempt of a send', () => {
  it.each([
    [0, 0, 1_000],
    [0, 1, 1_200],
    [1, 0.5, 5_500],
    [2, 0, 30_000],
    [99, 0, 30_000],
  ])(
    'follows the schedule 1, 5 and 30 s, plus up to a fifth at random: after %d refusals, with the random number %d (0 to 1), the wait is %d ms',
    (refusals, random, ms) => {
      expect(retryWaitMs([1, 5, 30], refusals, undefined, random)).toBeCloseTo(ms);
    },
  );

  it('is the longer of the time that upstream requested and the configured retry interval', () => {
    expect(retryWaitMs([1], 0, 60_000, 0)).toBe(60_000);
    expect(retryWaitMs([30], 0, 1_000, 0)).toBe(30_000);
    expect(retryWaitMs([], 0, undefined, 1)).toBe(0);
  });
});
