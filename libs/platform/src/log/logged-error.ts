/** The parts of an error that are logged. */
export interface LoggedError {
  type: string;
  words: string;
  code?: string;
  /** Stack frames, the innermost first, without the error message. */
  stack?: string[];
  cause?: LoggedError;
}

/**
 * An error whose message may quote other parties, such as upstream quoting a message. It provides its own text for
 * the log.
 */
export interface RedactedError {
  readonly logMessage: string;
}

const MAX_LENGTH = 500;
const MAX_FRAMES = 12;
const MAX_CAUSES = 4;

/** Returns the part of an error's message that may be logged, on one line. */
export function logMessageOf(error: unknown): string {
  if (!isObject(error)) return 'a value that is not an Error was thrown';
  if (typeof error['logMessage'] === 'string') return shortened(error['logMessage']);
  // The message of a parser quotes the invalid text.
  if (error['name'] === 'SyntaxError') return 'a text could not be parsed';
  return shortened(typeof error['message'] === 'string' ? error['message'] : '');
}

/**
 * Returns an error in the form of the log: its type, message, code, stack frames and causes, and nothing else. The
 * error of an HTTP client also has the whole request with its API key. A Redis error also has the command's
 * arguments.
 *
 * Checks the shape of the error, not its class: in a separate JavaScript context, Node's errors have other classes.
 */
export function loggedError(error: unknown, causes = MAX_CAUSES): LoggedError {
  if (!isObject(error)) return { type: typeof error, words: logMessageOf(error) };
  const { name, code, stack, cause } = error;
  const frames = typeof stack === 'string' ? framesOf(stack) : [];
  return {
    type: typeof name === 'string' ? shortened(name) : 'unknown',
    words: logMessageOf(error),
    ...(typeof code === 'string' || typeof code === 'number' ? { code: shortened(String(code)) } : {}),
    ...(frames.length === 0 ? {} : { stack: frames }),
    ...(cause === undefined || causes === 0 ? {} : { cause: loggedError(cause, causes - 1) }),
  };
}

function framesOf(stack: string): string[] {
  const frames = stack.split('\n').flatMap((line) => /^\s+at (.*)$/.exec(line)?.[1] ?? []);
  return frames.slice(0, MAX_FRAMES).map(shortened);
}

function shortened(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, MAX_LENGTH);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
