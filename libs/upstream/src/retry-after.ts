const LONGEST_MS = 24 * 3_600_000;

/**
 * How long a `Retry-After` header asks to wait, in milliseconds, at most a day: seconds or an HTTP date.
 * Undefined for anything else.
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_MS);
}
