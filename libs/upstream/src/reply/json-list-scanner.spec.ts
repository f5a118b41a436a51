import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { JsonListScanner } from './json-list-scanner.js';

/** Texts with quotes, backslashes and brackets. Some are so long that the scanner uses a native search. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom('"', '\\', '[', '}', ',', 'é'),
      fc.string({ minLength: 60, maxLength: 150, size: 'max' }),
    ),
    {
      maxLength: 12,
    },
  )
  .map((parts) => parts.join(''));
const element = fc.oneof(text, fc.integer(), fc.record({ a: text, b: fc.array(text, { maxLength: 3 }) }));

describe('the list scanner', () => {
  it('finds the same elements as JSON.parse, wherever the chunks of a reply end', () => {
    const reply = fc.record({ around: text, elements: fc.array(element, { maxLength: 8 }) });
    fc.assert(
      fc.property(reply, fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }), (body, sizes) => {
        const bytes = Buffer.from(JSON.stringify({ around: body.around, messages: body.elements }));
        const found: unknown[] = [];
        const scanner = new JsonListScanner('messages', 1_000, (scanned) => {
          expect(scanned.readable).toBe(true);
          found.push(JSON.parse(scanned.bytes.toString()));
        });
        for (let at = 0, n = 0; at < bytes.length; n += 1) {
          const size = sizes[n % sizes.length] ?? 1;
          scanner.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(scanner.end()).toBe(0);
        expect(found).toEqual(body.elements);
      }),
      { numRuns: 500 },
    );
  });
});
