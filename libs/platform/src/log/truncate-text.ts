/**
 * Returns at most the first `maxLength` UTF-16 code units of a text. If the cut leaves half of a surrogate pair at
 * the end, U+FFFD replaces that half, because many receivers reject JSON that contains such a half, and Lua scripts
 * in Redis cannot decode it.
 */
export function truncateText(text: string, maxLength: number): string {
  return Buffer.from(text.slice(0, maxLength)).toString();
}
