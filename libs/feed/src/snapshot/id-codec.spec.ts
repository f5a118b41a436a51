import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { packId, unpackId } from './id-codec.js';
import { DamagedSnapshotError } from '../packed-bytes.js';

const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const hex = fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF-'.split('')), maxLength: 70 });

describe('a packed message id', () => {
  it('unpacks to exactly the same id, and never equals the packed form of another id', () => {
    const ids = fc.oneof(fc.uuid(), hex, fc.string({ unit: 'grapheme' }), fc.constantFrom('ÿ', 'þ', '\0'));
    fc.assert(
      fc.property(ids, ids, (one, other) => {
        expect(unpackId(packId(one))).toBe(one);
        expect(packId(one).equals(packId(other))).toBe(one === other);
      }),
    );
  });

  it.each([
    [UUID, 17],
    [UUID.toUpperCase(), 36],
    [UUID.replaceAll('-', ''), 17],
    ['65f1c0ffee65f1c0ffee65f1', 13],
    ['65F1C0FFEE65F1C0FFEE65F1', 24],
    ['65f1c0ffee65f1c0ffee65f', 23],
    ['1234', 4],
    ['msg_65f1c0ffee65f1c0', 20],
  ])('that stands for the id %s takes %d bytes', (id, length) => {
    expect(packId(id)).toHaveLength(length);
  });

  it('counts as damaged if it is a UUID with a missing byte', () => {
    expect(() => unpackId(packId(UUID).subarray(0, 16))).toThrow(DamagedSnapshotError);
  });
});
