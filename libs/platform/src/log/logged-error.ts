/** The parts of an error that the log contains. */
export interface LoggedError {
  type: string;
  /** The message of the error, as {@link logMessageOf} returns it. */
  words: string;
  code?: string;
  /** Stack frames, the innermost first, without the error message. */
  stack?: string[];
  cause?: LoggedError;
}

/** An error whose `message` may contain private text. Log lines contain its `logMessage` instead. */
export interface RedactedError {
  readonly logMessage: string;
}

const MAX_LENGTH = 500;
const MAX_FRAMES = 12;
const MAX_CAUSES = 4;

/** Returns the message to log for an error: one short line, without private text that the error may quote. */
export function logMessageOf(error: unknown): string {
  if (!isObject(error)) return 'a value that is not an Error was thrown';
  if (typeof error['logMessage'] === 'string') return shortened(error['logMessage']);
  // The error message of a parser quotes the text that it rejected. That text may be private.
  if (error['name'] === 'SyntaxError') return 'a text could not be parsed';
  return shortened(typeof error['message'] === 'string' ? error['message'] : '');
}

/**
 * Returns the parts of an error that the log contains: its type, message, code, stack frames and causes. The
 * other fields may be secret: the error of an HTTP client has the whole request with its API key, and a Redis
 * error has the arguments of the command.
 *
 * The function looks at the fields of the error, not at its class, because `instanceof Error` is false for an
 * error from another JavaScript context.
 */
export function toLoggedError(error: unknown, causes = MAX_CAUSES): LoggedError {
  if (!isObject(error)) return { type: typeof error, words: logMessageOf(error) };
  const { name, code, stack, cause } = error;
  const frames = typeof stack === 'string' ? framesOf(stack) : [];
  return {
    type: typeof name === 'string' ? shortened(name) : 'unknown',
    words: logMessageOf(error),
    ...(typeof code === 'string' || typeof code === 'number' ? { code: shortened(String(code)) } : {}),
    ...(frames.length === 0 ? {} : { stack: frames }),
    ...(cause === undefined || causes === 0 ? {} : { cause: toLoggedError(cause, causes - 1) }),
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
