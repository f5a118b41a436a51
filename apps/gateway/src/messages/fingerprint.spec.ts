import { describe, expect, it } from '@jest/globals';
import { fingerprintOf } from './fingerprint.js';

const BASE = { phoneNumber: '+14155550123', type: 'text', message: 'hi' };
const FILE = { blobId: 'blb_1', name: 'a', contentType: 'text/plain', size: 1, sha256: 'aa' };

describe('The hash that identifies a repeated send request', () => {
  it('does not depend on the order of fields', () => {
    const one = fingerprintOf({ ...BASE, metadata: { a: 1, b: { c: 1, d: 2 } } });
    const two = fingerprintOf({
      metadata: { b: { d: 2, c: 1 }, a: 1 },
      message: 'hi',
      type: 'text',
      phoneNumber: BASE.phoneNumber,
    });
    expect(one).toBe(two);
  });

  it('depends on the values of fields, the order of lists, the structure of metadata and the file content', () => {
    const all = [
      BASE,
      { ...BASE, message: 'ho' },
      { ...BASE, reference: 'r' },
      { ...BASE, sendAt: 1 },
      { ...BASE, metadata: { a: { b: 1 } } },
      { ...BASE, metadata: { a: [['b', 1]] } },
      { ...BASE, metadata: { a: [1, ['b']] } },
      { ...BASE, file: FILE },
      { ...BASE, file: { ...FILE, sha256: 'bb' } },
    ].map(fingerprintOf);
    expect(new Set(all).size).toBe(all.length);
  });

  it('does not depend on the blob id, the name or the content type of a file', () => {
    const moved = { ...FILE, blobId: 'blb_2', name: 'b', contentType: 'image/png' };
    expect(fingerprintOf({ ...BASE, file: FILE })).toBe(fingerprintOf({ ...BASE, file: moved }));
  });
});
