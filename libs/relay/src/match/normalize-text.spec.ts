import { describe, expect, it } from '@jest/globals';
import { normalizeText } from './normalize-text.js';

describe('a normalized text', () => {
  it.each([
    ['composed forms', 'Cafe\u0301', 'Caf\u00e9'],
    ['line ends', 'a\r\nb\rc', 'a\nb\nc'],
    ['blanks at its start and end', ' \n a b\t\u00a0', 'a b'],
    ['non-breaking spaces', 'a\u00a0b', 'a b'],
    ['double hyphens', 'a -- b', 'a \u2014 b'],
    ['single quotes', '\u2018a\u2019 \u201Ab\u201B', "'a' 'b'"],
    ['double quotes', '\u201Ca\u201D \u201Eb\u201F', '"a" "b"'],
    ['ellipses', 'a\u2026', 'a...'],
    ['low and reversed quotes', '\u201Aa\u201B \u201Eb\u201F', `'a' "b"`],
    ['narrow non-breaking spaces', 'a\u202F!', 'a !'],
    ['the placeholder of an attachment', '\uFFFCa', 'a'],
    [
      'all of these characters at once',
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
  ])('differs between %p and %p', (one, other) => {
    expect(normalizeText(one)).not.toBe(normalizeText(other));
  });
});
