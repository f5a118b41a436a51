const REPLACEMENTS: readonly [RegExp, string][] = [
  [/\r\n?/g, '\n'],
  [/[\u2018\u2019\u201A\u201B]/g, "'"],
  [/[\u201C\u201D\u201E\u201F]/g, '"'],
  [/--|[\u2013\u2014]/g, '-'],
  [/\u2026/g, '...'],
  [/[\u00A0\u202F]/g, ' '],
  // The placeholder of an attachment in the text of an iMessage.
  [/\uFFFC/g, ''],
];

/**
 * Normalizes the characters that transports are known to rewrite: composed forms, line ends, typographic quotes, dashes
 * and ellipses, non-breaking spaces, outer blanks. Everything else stays, including every part of an emoji: two
 * different texts must not become equal.
 */
export function normalizeText(text: string): string {
  return REPLACEMENTS.reduce(
    (normalized, [pattern, plain]) => normalized.replace(pattern, plain),
    text.normalize('NFC'),
  ).trim();
}
