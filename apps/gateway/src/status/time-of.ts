/** A moment in milliseconds since 1970 as replies show it. */
export function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
