const ISO_INSTANT = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

/** Latest accepted time: the year of a stored or shown time has at most four digits in UTC. */
const MAX_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Parses an ISO 8601 date and time with a time zone. Returns milliseconds since 1970, or undefined for any other value. */
export function parseInstant(value: unknown): number | undefined {
  const [, year, month, day] = (typeof value === 'string' ? ISO_INSTANT.exec(value) : null) ?? [];
  if (typeof value !== 'string' || day === undefined) return undefined;
  // Date.parse accepts 30 February as 1 March.
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  const time = Date.parse(value);
  return time <= MAX_INSTANT && Number(day) <= daysOfMonth ? time : undefined;
}
