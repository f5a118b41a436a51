const LONGEST_MS = 24 * 3_600_000;
/** Whole seconds by RFC 9110; some servers write fractions. */
const SECONDS = /^\d+(\.\d+)?$/;
/** An HTTP date begins with its weekday; `Date.parse` alone would take `45.5` for the year 2045, and `-5` for a date, too. */
const HTTP_DATE = /^[A-Za-z]{3,9},? /;

/**
 * How long a `Retry-After` header asks to wait, in milliseconds, at most a day: seconds or an HTTP date.
 * Undefined for anything else.
 * @param now milliseconds since 1970
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const ms = SECONDS.test(text) ? Math.ceil(Number(text) * 1000) : dateOf(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_MS);
}

function dateOf(text: string): number {
  return HTTP_DATE.test(text) ? Date.parse(text) : NaN;
}
