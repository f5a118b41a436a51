import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { expectedMessageRate, type MessageRateState } from './rate.js';
import { packMessageRate, unpackMessageRate } from './rate-codec.js';

const NOW = Date.UTC(2026, 0, 1);
const amount = (max: number): fc.Arbitrary<number> => fc.double({ min: 0, max, noNaN: true });
const states: fc.Arbitrary<MessageRateState> = fc
  .record({
    at: fc.integer({ min: NOW - 1e10, max: NOW }),
    starts: amount(1e4),
    follows: amount(1e5),
    watchedMs: amount(3e8),
    gaps: amount(20),
    gapsMs: amount(1e8),
  })
  // The last message, at `at`, counts as 1. A smaller sum cannot occur; it would be rounded to 0, as if there were no
  // message.
  .filter(({ starts, follows }) => starts + follows === 0 || starts + follows >= 1);

describe('the packed message rate of a contact', () => {
  it('unpacks to the same rate, up to rounding', () => {
    fc.assert(
      fc.property(states, (state) => {
        const read = unpackMessageRate(packMessageRate(state));
        expect(Math.abs(expectedMessageRate(read, NOW) / expectedMessageRate(state, NOW) - 1)).toBeLessThan(
          0.05,
        );
        expect(Math.abs((read?.at ?? 0) - state.at)).toBeLessThanOrEqual(50);
      }),
    );
  });

  it('gives the same bytes if it is unpacked and packed again', () => {
    fc.assert(
      fc.property(states, (state) => {
        const once = packMessageRate(state);
        const read = unpackMessageRate(once);
        expect(read).toBeDefined();
        if (read !== undefined) expect(packMessageRate(read)).toEqual(once);
      }),
    );
  });

  it('takes at most 16 bytes', () => {
    fc.assert(
      fc.property(states, (state) => {
        expect(packMessageRate(state).length).toBeLessThanOrEqual(16);
      }),
    );
  });

  it('unpacks to undefined if it has missing bytes, extra bytes or a different version', () => {
    const bytes = packMessageRate({ at: NOW, starts: 3, follows: 9, watchedMs: 1e6, gaps: 2, gapsMs: 4e4 });
    for (let length = 0; length < bytes.length; length += 1) {
      expect(unpackMessageRate(bytes.subarray(0, length))).toBeUndefined();
    }
    expect(unpackMessageRate(Buffer.concat([bytes, Buffer.of(0)]))).toBeUndefined();
    expect(unpackMessageRate(Buffer.concat([Buffer.of(2), bytes.subarray(1)]))).toBeUndefined();
  });

  it('unpacks without an error and gives a valid rate, whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 30 }), fc.boolean(), (bytes, ours) => {
        const state = unpackMessageRate(Buffer.from(ours ? [1, ...bytes] : bytes));
        const rate = expectedMessageRate(state, NOW);
        expect(Number.isFinite(rate) && rate > 0).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
