import { describe, expect, it } from '@jest/globals';
import { packListedContact, unpackListedContact } from './listed-contact-codec.js';

describe('a contact of the list', () => {
  it.each([
    { fingerprint: '0123456789abcdef', deleted: false },
    { fingerprint: 'ffffffff00000000', deleted: true },
    { fingerprint: '000000000000000a', deleted: false, missingSince: Date.UTC(2026, 0) },
    { fingerprint: '80000000fedcba98', deleted: true, missingSince: 0 },
  ])('reads back as it was: %j', (listed) => {
    expect(unpackListedContact(packListedContact(listed))).toEqual(listed);
  });

  it.each(['', '0123456789abcdef', '\0too short', '\x04________'])(
    '(%j) that cannot be read is all news',
    (damaged) => {
      expect(unpackListedContact(Buffer.from(damaged))).toEqual({ fingerprint: '', deleted: false });
    },
  );
});
