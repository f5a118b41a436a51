import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PAGE_ORDERS } from '../walk/page-order.js';
import { DamagedSnapshotError } from '../packed-bytes.js';
import { packPollState, unpackPollState } from './poll-state-codec.js';
import { hashAndJoinIds, EMPTY_POLL_STATE, type PollState } from './poll-state.js';

const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const marks = fc.array(fc.string(), { maxLength: 30 }).map(hashAndJoinIds);
const required = {
  order: fc.constantFrom(...PAGE_ORDERS),
  pageSize: count,
  length: count,
  count,
  head: marks,
};
const optional = {
  completeAt: count,
  completeDueAt: count,
  flagCheckDueAt: count,
  suspectSince: count,
  limit: count,
  skipped: count,
  revisionFloor: count,
  unreadable: marks,
  epoch: fc.string({ unit: 'grapheme' }),
  activity: fc.record({ weight: fc.double({ min: 1e-9, max: 1e9, noNaN: true }), at: count }),
};
const pollState: fc.Arbitrary<PollState> = fc.record(
  { ...required, ...optional },
  { requiredKeys: ['order', 'pageSize', 'length', 'count', 'head'] },
);

describe('the packed poll state of a contact', () => {
  it('unpacks to the same state', () => {
    fc.assert(
      fc.property(pollState, (remembered) => {
        expect(unpackPollState(packPollState(remembered))).toEqual(remembered);
      }),
    );
    expect(unpackPollState(packPollState(EMPTY_POLL_STATE))).toEqual(EMPTY_POLL_STATE);
  });

  it('counts as damaged if it has too few or too many bytes', () => {
    fc.assert(
      fc.property(
        pollState,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (remembered, part) => {
          const packed = packPollState(remembered);
          const cut = packed.subarray(0, Math.floor(packed.length * part));
          expect(() => unpackPollState(cut)).toThrow(DamagedSnapshotError);
          expect(() => unpackPollState(Buffer.concat([packed, Buffer.of(0)]))).toThrow(DamagedSnapshotError);
        },
      ),
    );
  });

  it.each([
    ['another format', 0, 2],
    ['the JSON of an old build', 0, 0x7b],
    ['an unknown order', 1, PAGE_ORDERS.length],
    ['unknown fields', 2, 0x7f],
  ])('counts as damaged if it contains %s', (_, at, byte) => {
    const packed = packPollState({ ...EMPTY_POLL_STATE, completeAt: 1, flagCheckDueAt: 2 });
    packed[at] = byte;
    expect(() => unpackPollState(packed)).toThrow(DamagedSnapshotError);
  });

  it('takes at most 80 bytes for a contact with a full page of messages', () => {
    const head = hashAndJoinIds(Array.from({ length: 20 }, (_, n) => `id ${n}`));
    const completeAt = Date.UTC(2026, 0);
    const activity = { weight: 0, at: completeAt };
    const usual: PollState = {
      order: 'newestFirst',
      pageSize: 20,
      length: 0,
      count: 20,
      head,
      completeAt,
      activity,
    };
    expect(packPollState(usual).length).toBeLessThanOrEqual(80);
  });
});
