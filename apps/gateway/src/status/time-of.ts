/** Converts milliseconds since 1970 to ISO 8601, as responses show times. Undefined becomes null. */
export function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
