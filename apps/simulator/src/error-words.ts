/**
 * The code of an error, such as ENOENT, or null. By shape, not by class: errors of Node's own modules are of another
 * realm's class where code runs in a context of its own, as under a test runner.
 */
export function codeOf(error: unknown): string | null {
  const code = property(error, 'code');
  return typeof code === 'string' ? code : null;
}

/** The HTTP status an error suggests, or null. */
export function statusOf(error: unknown): number | null {
  const status = property(error, 'statusCode');
  return typeof status === 'number' ? status : null;
}

export function wordsOf(error: unknown): string {
  const message = property(error, 'message');
  return typeof message === 'string' ? message : String(error);
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && name in value
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
