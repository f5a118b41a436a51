import fc from 'fast-check';

/** Code points before, of and after the halves of surrogate pairs, which are not characters. */
const [BEFORE, HALVES, AFTER] = [0xd800, 0x800, 0x102000];

/**
 * Any Unicode character, as the unit `binary` of fast-check. That unit needs a second of a processor for a table of all
 * characters.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat({ max: BEFORE + AFTER - 1 }).map(
  (index) => String.fromCodePoint(index < BEFORE ? index : index + HALVES),
  (text) => {
    const codePoint = typeof text === 'string' ? text.codePointAt(0) : undefined;
    if (codePoint === undefined || text !== String.fromCodePoint(codePoint))
      throw new Error('not one character');
    if (codePoint < BEFORE) return codePoint;
    if (codePoint < BEFORE + HALVES) throw new Error('only a half of a character');
    return codePoint - HALVES;
  },
);
