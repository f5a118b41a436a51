import { CommandFault } from '../failure.js';

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * A date in ISO 8601, alone or with a time and its time zone. The gateway has the same rule for times, in
 * apps/gateway/src/input/rules.ts. `Date.parse` alone is not enough: it reads `60` as the year 1960.
 */
const ISO_DATE = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Parses an option that names a time: ISO 8601, or an age such as `90s`, `30m`, `1h`, `7d`. A date without a time
 * means the first moment of that day in UTC.
 * @param option name of the option, for the error
 * @throws {CommandFault}
 */
export function timeOf(text: string, option: string, now = Date.now()): Date {
  const age = /^(\d+)([smhd])$/.exec(text);
  const time = age === null ? parseIsoDate(text) : now - Number(age[1]) * (UNIT_MS[age[2] ?? ''] ?? 0);
  const date = new Date(time);
  if (Number.isNaN(date.getTime()))
    throw new CommandFault(
      `${option}: ${text} is neither a time with its time zone such as 2026-01-31T09:00:00Z, nor a date such as 2026-01-31, nor an age such as 90s, 30m, 1h or 7d`,
    );
  return date;
}

/**
 * Parses an option that names a future time. The value must be a date with a time of day. An age is rejected, because
 * it would be in the past.
 * @param option name of the option, for the error
 * @throws {CommandFault}
 */
export function futureTimeOf(text: string, option: string): Date {
  const time = text.includes('T') ? parseIsoDate(text) : Number.NaN;
  if (Number.isNaN(time))
    throw new CommandFault(
      `${option}: ${text} is not a time with its time zone; an example is 2030-01-31T09:00:00Z`,
    );
  return new Date(time);
}

/** Returns milliseconds since 1970, or NaN. */
function parseIsoDate(text: string): number {
  const [, year, month, day] = ISO_DATE.exec(text) ?? [];
  // Date.parse accepts 30 February as 1 March.
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return Number(day) <= daysOfMonth ? Date.parse(text) : Number.NaN;
}

/** Describes a length of time in its largest fitting unit, for example `850 ms`, `4.2 s`, `3 min`, `2 h`, `5 d`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`;
}

/** Describes how long ago an ISO 8601 time was. Returns `-` for null. */
export function ago(time: string | null, now = Date.now()): string {
  return time === null ? '-' : `${duration(Math.max(now - Date.parse(time), 0))} ago`;
}
