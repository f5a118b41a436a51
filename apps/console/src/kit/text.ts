import { TidingsConnectionError, TidingsError } from '#client';

/** Joins class names, and leaves out absent ones. */
export function classes(...names: (string | false | undefined)[]): string {
  return names.filter((name) => name !== false && name !== undefined && name !== '').join(' ');
}

/** Returns a number with the user's separators. */
export function numberText(value: number): string {
  return value.toLocaleString();
}

/** Returns a count with its noun, for example `2 deliveries`. */
export function countText(count: number, one: string, many: string): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}

const UNITS = [
  { limit: 1_000, divisor: 1, unit: 'ms' },
  { limit: 60_000, divisor: 1_000, unit: 's' },
  { limit: 3_600_000, divisor: 60_000, unit: 'min' },
  { limit: 86_400_000, divisor: 3_600_000, unit: 'h' },
  { limit: Infinity, divisor: 86_400_000, unit: 'd' },
] as const;

/** Returns a duration with one unit. A value below 10 has one decimal place, except in milliseconds. */
export function durationText(ms: number): string {
  const { divisor, unit } = UNITS.find(({ limit }) => ms < limit) ?? UNITS[4];
  const value = ms / divisor;
  const digits = divisor === 1 || value >= 10 ? 0 : 1;
  return `${value.toLocaleString(undefined, { maximumFractionDigits: digits })} ${unit}`;
}

/** Returns a number of bytes with a unit. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** An error as the user sees it. */
export interface ErrorText {
  title: string;
  detail: string;
  /** Lines about single fields. */
  fields: readonly string[];
  requestId: string | undefined;
}

/** Returns the texts of an error, with what the user can do. */
export function errorText(error: unknown): ErrorText {
  if (error instanceof TidingsError)
    return {
      title: TITLES[error.code] ?? 'The gateway rejected the request',
      detail: error.message,
      fields: error.fields.map(({ field, message }) => `${field}: ${message}`),
      requestId: error.requestId,
    };
  if (error instanceof TidingsConnectionError)
    return {
      title: 'The gateway cannot be reached',
      detail: 'Check that the gateway is running and that your network is connected, then try again.',
      fields: [],
      requestId: undefined,
    };
  const detail = error instanceof Error ? error.message : String(error);
  return { title: 'The console failed', detail, fields: [], requestId: undefined };
}

const TITLES: Readonly<Partial<Record<TidingsError['code'], string>>> = {
  unauthenticated: 'Not signed in',
  forbidden: 'Your API key does not permit this',
  validation_failed: 'Some values are not valid',
  not_found: 'Not found',
  conflict: 'Not possible now',
  rate_limited: 'Too many requests',
  upstream_error: 'The messaging service failed',
  upstream_unavailable: 'The messaging service is not available',
  upstream_timeout: 'The messaging service did not answer in time',
  unavailable: 'The gateway is not available',
};
