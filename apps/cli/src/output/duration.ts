import { CommandFault } from '../failure.js';

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Parses an option that names a time: ISO 8601, or an age such as `90s`, `30m`, `1h`, `7d`.
 * @param option name of the option, for the error
 * @throws {CommandFault}
 */
export function timeOf(text: string, option: string, now = Date.now()): Date {
  const age = /^(\d+)([smhd])$/.exec(text);
  const time = age === null ? Date.parse(text) : now - Number(age[1]) * (UNIT_MS[age[2] ?? ''] ?? 0);
  const date = new Date(time);
  if (Number.isNaN(date.getTime()))
    throw new CommandFault(
      `${option}: ${text} is neither a time such as 2026-01-31T09:00:00Z nor an age such as 90s, 30m, 1h or 7d`,
    );
  return date;
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
