const MAX_WAIT_MS = 24 * 3_600_000;
/** Matches a number of seconds. RFC 9110 allows integers only, but some servers send fractions. */
const SECONDS = /^\d+(\.\d+)?$/;
/**
 * Matches the weekday with which an HTTP date begins. The check is needed because `Date.parse` also accepts
 * `45.5` (as the year 2045) and `-5`.
 */
const HTTP_DATE = /^[A-Za-z]{3,9},? /;

/**
 * Parses a `Retry-After` header, which contains seconds or an HTTP date. Returns the time to wait in
 * milliseconds, at most a day; 0 for a date in the past. Returns undefined for an absent header or any other text.
 * @param now current time, in milliseconds since 1970
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const ms = SECONDS.test(text) ? Math.ceil(Number(text) * 1000) : dateOf(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_WAIT_MS);
}

function dateOf(text: string): number {
  return HTTP_DATE.test(text) ? Date.parse(text) : NaN;
}
