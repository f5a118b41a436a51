/** Rewrites a text as phones do during typing: curly quotes, long dashes, an ellipsis. */
export function withTypographicCharacters(text: string): string {
  return text
    .replaceAll('...', '…')
    .replaceAll('--', '—')
    .replaceAll(' - ', ' – ')
    .replace(/(^|[\s([{—–])"/gu, '$1“')
    .replaceAll('"', '”')
    .replace(/(^|[\s([{—–“])'/gu, '$1‘')
    .replaceAll("'", '’');
}
