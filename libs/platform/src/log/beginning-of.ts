/**
 * Returns at most the first `maxLength` UTF-16 code units of a text. Half of a character at the end is replaced: many
 * receivers reject JSON with such a half, and Redis cannot decode it.
 */
export function beginningOf(text: string, maxLength: number): string {
  return Buffer.from(text.slice(0, maxLength)).toString();
}
