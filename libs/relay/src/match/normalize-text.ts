const REPLACEMENTS: readonly [RegExp, string][] = [
  [/\r\n?/g, '\n'],
  [/[\u2018\u2019\u201A\u201B]/g, "'"],
  [/[\u201C\u201D\u201E\u201F]/g, '"'],
  [/--|[\u2013\u2014]/g, '-'],
  [/\u2026/g, '...'],
  [/[\u00A0\u202F]/g, ' '],
  // U+FFFC stands for an attachment in the text of an iMessage.
  [/\uFFFC/g, ''],
];

/**
 * Normalizes what messaging services are known to change in a text: Unicode composition, line breaks, typographic
 * quotes, dashes and ellipses, non-breaking spaces, placeholders of attachments, and white space at both ends. All
 * other characters stay, including every part of an emoji, so that texts that differ in these characters stay
 * different.
 */
export function normalizeText(text: string): string {
  return REPLACEMENTS.reduce(
    (normalized, [pattern, plain]) => normalized.replace(pattern, plain),
    text.normalize('NFC'),
  ).trim();
}
