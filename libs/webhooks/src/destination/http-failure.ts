const LONGEST = 300;

/** Why an exchange failed, in one line for the delivery's record. */
export function describeFailure(error: unknown): string {
  const cause = innermost(error);
  if (!(cause instanceof Error)) return String(cause).slice(0, LONGEST);
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  const text = code === '' || cause.message.includes(code) ? cause.message : `${code}: ${cause.message}`;
  return (text === '' ? cause.name : text).slice(0, LONGEST);
}

/** Of several addresses that all failed, the first failure stands for all. */
function innermost(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0] as unknown;
  return error;
}
