import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type RebuildablePollState,
  packRebuildablePollState,
  unpackRebuildablePollState,
} from './rebuildable-poll-state.js';

const FULL: RebuildablePollState = {
  rate: Buffer.from([1, 2, 3]),
  volatile: Buffer.from([4]),
  readAt: 1_800_000_000_123,
  headLimit: 5,
  headLimitUntil: 1_800_000_600_000,
  resyncing: true,
  ignoresLimit: true,
  hasMisplacedMessages: true,
};

describe('the part of the poll state that later polls can rebuild after a loss', () => {
  it.each([{}, { readAt: 1 }, { rate: Buffer.alloc(200, 7) }, FULL])(
    'is unchanged after packing and unpacking: %j',
    (state) => {
      expect(unpackRebuildablePollState(packRebuildablePollState(state))).toEqual(state);
    },
  );

  it('takes no bytes in packed form if it is empty', () => {
    expect(packRebuildablePollState({})).toHaveLength(0);
  });

  it('can be unpacked if a later build packed it; sections that this build does not know are ignored', () => {
    const later = Buffer.concat([packRebuildablePollState({ readAt: 5 }), Buffer.from([99, 2, 1, 1])]);
    expect(unpackRebuildablePollState(later)).toEqual({ readAt: 5 });
  });

  it('is unpacked as empty, without an error, if the packed bytes are damaged', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        expect(typeof unpackRebuildablePollState(Buffer.from(bytes))).toBe('object');
      }),
    );
    expect(unpackRebuildablePollState(packRebuildablePollState(FULL).subarray(0, 7))).toEqual({});
  });
});
