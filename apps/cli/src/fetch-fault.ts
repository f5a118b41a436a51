/**
 * Returns the reason of an error of `fetch`. The message of such an error is only "fetch failed". The reason is the
 * message of its cause or, if this message is empty, the code of the cause.
 */
export function fetchFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(error instanceof TypeError) || !(cause instanceof Error)) return error.message;
  return cause.message === '' && 'code' in cause ? String(cause.code) : cause.message;
}
