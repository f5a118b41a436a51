/**
 * Returns the code of an error, such as ENOENT, or null. Checks the shape instead of the class: under a test
 * runner, errors of Node's own modules belong to another realm.
 */
export function codeOf(error: unknown): string | null {
  const code = property(error, 'code');
  return typeof code === 'string' ? code : null;
}

/** Returns the HTTP status of an error, or null. */
export function statusOf(error: unknown): number | null {
  const status = property(error, 'statusCode');
  return typeof status === 'number' ? status : null;
}

/** Returns the message of an error. */
export function messageOf(error: unknown): string {
  const message = property(error, 'message');
  return typeof message === 'string' ? message : String(error);
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && name in value
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
