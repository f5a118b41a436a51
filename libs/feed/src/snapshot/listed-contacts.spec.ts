import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ListedContact, ListedContacts } from './listed-contacts.js';

const hex = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((bits) => bits.toString(16).padStart(16, '0'));
const contact: fc.Arbitrary<ListedContact> = fc.record(
  { fingerprint: fc.oneof(hex, fc.constant('')), deleted: fc.boolean(), missingSince: fc.nat() },
  { requiredKeys: ['fingerprint', 'deleted'] },
);

describe('a collection of contact snapshots', () => {
  it('contains the latest snapshot of each contact, in the order in which the contacts were added', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ maxLength: 3 }), contact), { maxLength: 300 }), (entries) => {
        const listed = ListedContacts.of(entries);
        const expected = new Map(entries);
        expect([...listed]).toEqual([...expected]);
        expect(listed.size).toBe(expected.size);
        expect([...listed.keys()]).toEqual([...expected.keys()]);
        for (const [id, one] of expected) expect(listed.get(id)).toEqual(one);
        expect([...expected.keys()].map((id) => listed.ordinalOf(id))).toEqual(
          [...expected.keys()].map((_, n) => n),
        );
      }),
    );
  });

  it('returns undefined for a contact that was not added', () => {
    const listed = ListedContacts.of([['c', { fingerprint: '00000000000000ff', deleted: false }]]);
    expect([listed.get('d'), listed.ordinalOf('d')]).toEqual([undefined, undefined]);
  });
});
