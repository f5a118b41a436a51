import { truncateText } from '#platform';

const MAX_LENGTH = 300;

/** Describes in one line why a request failed, for the stored attempt of the delivery. */
export function describeRequestFailure(error: unknown): string {
  const cause = innermost(error);
  if (!(cause instanceof Error)) return truncateText(String(cause), MAX_LENGTH);
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  const text = code === '' || cause.message.includes(code) ? cause.message : `${code}: ${cause.message}`;
  return truncateText(text === '' ? cause.name : text, MAX_LENGTH);
}

/**
 * Returns the first error of an AggregateError, which contains one error for each address that was tried. Returns any
 * other error unchanged.
 */
function innermost(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0] as unknown;
  return error;
}
