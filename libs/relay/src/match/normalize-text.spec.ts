import { describe, expect, it } from '@jest/globals';
import { normalizeText } from './normalize-text.js';

describe('a normalized text', () => {
  it.each([
    ['the Unicode form of letters with accents', 'Cafe\u0301', 'Caf\u00e9'],
    ['the kind of line ends', 'a\r\nb\rc', 'a\nb\nc'],
    ['blanks at its start and end', ' \n a b\t\u00a0', 'a b'],
    ['whether spaces are non-breaking', 'a\u00a0b', 'a b'],
    ['whether a dash is written as two hyphens', 'a -- b', 'a \u2014 b'],
    ['the form of single quotes', '\u2018a\u2019 \u201Ab\u201B', "'a' 'b'"],
    ['the form of double quotes', '\u201Ca\u201D \u201Eb\u201F', '"a" "b"'],
    ['whether an ellipsis is one character or three dots', 'a\u2026', 'a...'],
    ['whether quotes are low or reversed', '\u201Aa\u201B \u201Eb\u201F', `'a' "b"`],
    ['whether spaces are narrow and non-breaking', 'a\u202F!', 'a !'],
    ['the placeholder character of an attachment', '\uFFFCa', 'a'],
    [
      'several differences of accents, quotes, dashes and blanks at once',
      '\uFFFC \u201CCafe\u0301\u201D\r\n\u2014\u00a0\u2026 ',
      '"Caf\u00e9"\n-- ...',
    ],
  ])('does not depend on %s', (_, one, other) => {
    expect(normalizeText(one)).toBe(normalizeText(other));
  });

  it.each([
    ['\u{1F44D}', '\u{1F44E}'],
    ['\u{1F44D}', '\u{1F44D}\u{1F3FD}'],
    ['\u{1F468}\u200D\u{1F469}\u200D\u{1F467}', '\u{1F468}\u{1F469}\u{1F467}'],
    ['\u2764', '\u2764\uFE0F'],
    ['\u{1F44D}', ''],
    ['שלום', 'םולש'],
    ['a b', 'ab'],
    ['a  b', 'a b'],
    ['a', 'A'],
    ['e', 'é'],
    ['10', '１０'],
    ['a\nb', 'a b'],
    ['\u{1F44D}\u{1F44D}', '\u{1F44D}'],
  ])('is different for %p and %p', (one, other) => {
    expect(normalizeText(one)).not.toBe(normalizeText(other));
  });
});
