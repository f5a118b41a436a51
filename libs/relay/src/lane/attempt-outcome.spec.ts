import { describe, expect, it } from '@jest/globals';
import {
  UpstreamConnectionLostError,
  UpstreamIsGatewayError,
  UpstreamReplyError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnreachableError,
} from '#upstream';
import { outcomeOf, retryWaitMs } from './attempt-outcome.js';

const status = (code: number): UpstreamStatusError => new UpstreamStatusError(code, 'words', undefined);

describe('an attempt', () => {
  it.each([
    ['no connection', new UpstreamUnreachableError('ENOTFOUND'), 'not_taken'],
    ['429', status(429), 'not_taken'],
    ['401', status(401), 'not_taken'],
    ...[400, 403, 404, 413, 415, 422].map((code) => [String(code), status(code), 'refused'] as const),
    ...[301, 302, 307, 402, 405, 408, 409, 500, 502, 503, 504].map(
      (code) => [String(code), status(code), 'ambiguous'] as const,
    ),
    ['the refusal of a gateway', new UpstreamIsGatewayError(false), 'not_taken'],
    ['the 200 of a gateway', new UpstreamIsGatewayError(true), 'ambiguous'],
    ['a timeout', new UpstreamTimeoutError(10), 'ambiguous'],
    ['a reset', new UpstreamConnectionLostError('ECONNRESET'), 'ambiguous'],
    ['an unreadable 200', new UpstreamReplyError('not JSON'), 'ambiguous'],
  ] as const)('that ended with %s is %s', (_, error, outcome) => {
    expect(outcomeOf(error, [429])).toMatchObject({ outcome, error: error.message });
  });

  it('that ended with a status which is said to be safe was not taken, and no other', () => {
    expect(outcomeOf(status(503), [429, 503]).outcome).toBe('not_taken');
    expect(outcomeOf(status(429), []).outcome).toBe('ambiguous');
  });

  it('keeps the status and how long upstream asks to wait', () => {
    expect(outcomeOf(new UpstreamStatusError(429, 'slow', 7_000), [429])).toEqual({
      outcome: 'not_taken',
      httpStatus: 429,
      error: 'upstream answered 429: slow',
      retryAfterMs: 7_000,
    });
  });

  it('that broke within the gateway is no answer of upstream', () => {
    const error = new Error('a fault of ours');
    expect(() => outcomeOf(error, [429])).toThrow(error);
  });
});

describe('the wait before the next attempt', () => {
  it.each([
    [0, 0, 1_000],
    [0, 1, 1_200],
    [1, 0.5, 5_500],
    [2, 0, 30_000],
    [99, 0, 30_000],
  ])('after %d refusals, with chance %d, is %d ms', (refusals, random, ms) => {
    expect(retryWaitMs([1, 5, 30], refusals, undefined, random)).toBeCloseTo(ms);
  });

  it('is never less than upstream asked for, nor less than the schedule', () => {
    expect(retryWaitMs([1], 0, 60_000, 0)).toBe(60_000);
    expect(retryWaitMs([30], 0, 1_000, 0)).toBe(30_000);
    expect(retryWaitMs([], 0, undefined, 1)).toBe(0);
  });
});
