/** Maximum number of characters (Unicode code points) of a preview. */
const MAX_PREVIEW_LENGTH = 280;

/** Returns the first {@link MAX_PREVIEW_LENGTH} characters of a text, for the list of conversations. */
export function previewOf(text: string): string {
  if (text.length <= MAX_PREVIEW_LENGTH) return text;
  // A character has at most two UTF-16 units, so twice as many units contain the whole preview.
  return Array.from(text.slice(0, 2 * MAX_PREVIEW_LENGTH))
    .slice(0, MAX_PREVIEW_LENGTH)
    .join('');
}
