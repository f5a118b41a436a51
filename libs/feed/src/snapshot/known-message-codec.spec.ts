import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Direction } from '#upstream';
import { FINGERPRINT_FIELDS } from '../form/fingerprint.js';
import { packKnownMessage, unpackKnownMessage } from './known-message-codec.js';
import { DamagedSnapshotError } from '../packed-bytes.js';

const MINUTE = 60_000;
const half = fc.integer({ min: -0x80_00_00_00, max: 0x7f_ff_ff_ff });
const base = {
  direction: fc.constantFrom<Direction>('inbound', 'outbound', 'other'),
  delivered: fc.boolean(),
  read: fc.boolean(),
  deliveredEmitted: fc.boolean(),
  readEmitted: fc.boolean(),
  deleted: fc.boolean(),
  revision: fc.integer({ min: 0, max: 0xff_ff_ff_ff }),
  fingerprint: fc.record({
    high: half,
    low: half,
    fields: fc.array(fc.integer({ min: 0, max: 0xff_ff }), {
      minLength: FINGERPRINT_FIELDS.length,
      maxLength: FINGERPRINT_FIELDS.length,
    }),
  }),
};
const known = fc.oneof(
  fc.record(base),
  fc.record({
    ...base,
    timestamp: fc.integer({ min: 1, max: 0xff_ff_ff_ff }).map((minute) => minute * MINUTE),
  }),
);

describe('a packed message snapshot', () => {
  it('unpacks to the same snapshot and takes at most 64 bytes', () => {
    fc.assert(
      fc.property(known, (message) => {
        const packed = packKnownMessage(message);
        expect(packed.length).toBeLessThanOrEqual(64);
        expect(unpackKnownMessage(packed)).toEqual(message);
      }),
    );
  });

  it.each([
    [Date.UTC(2026, 0, 1, 12, 30, 59, 999), Date.UTC(2026, 0, 1, 12, 30)],
    [-1, undefined],
    [0, undefined],
    [8.64e15, undefined],
  ])(
    'contains the timestamp %d rounded down to the minute, or no timestamp if the original is out of range',
    (timestamp, kept) => {
      const [message] = fc.sample(fc.record(base), 1);
      if (message === undefined) throw new Error('no sample');
      expect(unpackKnownMessage(packKnownMessage({ ...message, timestamp })).timestamp).toBe(kept);
    },
  );

  it('counts as damaged if it has a wrong number of bytes', () => {
    for (const length of [0, 34, 36]) {
      expect(() => unpackKnownMessage(Buffer.alloc(length))).toThrow(DamagedSnapshotError);
    }
  });
});
