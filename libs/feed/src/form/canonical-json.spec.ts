import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson } from './canonical-json.js';

describe('canonical JSON', () => {
  it('says everything: the value reads back from it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        expect(JSON.parse(canonicalJson(plain))).toEqual(plain);
      }),
    );
  });

  it('tells what is absent from null, and from its own word for it', () => {
    expect(canonicalJson(undefined)).not.toBe(canonicalJson(null));
    expect(canonicalJson('absent')).not.toBe(canonicalJson(undefined));
  });
});
