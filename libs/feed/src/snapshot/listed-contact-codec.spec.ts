import { describe, expect, it } from '@jest/globals';
import { packListedContact, unpackListedContact } from './listed-contact-codec.js';

describe('a packed contact snapshot', () => {
  it.each([
    { fingerprint: '0123456789abcdef', deleted: false },
    { fingerprint: 'ffffffff00000000', deleted: true },
    { fingerprint: '000000000000000a', deleted: false, missingSince: Date.UTC(2026, 0) },
    { fingerprint: '80000000fedcba98', deleted: true, missingSince: 0 },
  ])('unpacks to the same snapshot: %j', (listed) => {
    expect(unpackListedContact(packListedContact(listed))).toEqual(listed);
  });

  it.each(['', '0123456789abcdef', '\0too short', '\x04________'])(
    'with the damaged bytes %j unpacks to an empty fingerprint, so that the contact counts as changed',
    (damaged) => {
      expect(unpackListedContact(Buffer.from(damaged))).toEqual({ fingerprint: '', deleted: false });
    },
  );
});
