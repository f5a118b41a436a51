const LONGEST_MS = 24 * 3_600_000;
/** An HTTP date begins with its weekday; `Date.parse` alone would take `1.5` or `-5` for a date, too. */
const HTTP_DATE = /^[A-Za-z]{3,9},? /;

/**
 * How long a `Retry-After` header asks to wait, in milliseconds, at most a day: seconds or an HTTP date.
 * Undefined for anything else.
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : HTTP_DATE.test(text) ? Date.parse(text) - now : NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_MS);
}
