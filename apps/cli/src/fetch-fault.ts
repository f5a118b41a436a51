/** Says why `fetch` failed. Its own message is "fetch failed"; the reason is in its cause, at times only as a code. */
export function fetchFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(error instanceof TypeError) || !(cause instanceof Error)) return error.message;
  return cause.message === '' && 'code' in cause ? String(cause.code) : cause.message;
}
