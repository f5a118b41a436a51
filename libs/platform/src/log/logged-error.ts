/** What of an error stands in the log. */
export interface LoggedError {
  type: string;
  words: string;
  code?: string;
  /** The places alone, the innermost first: the words above them are those above. */
  stack?: string[];
  cause?: LoggedError;
}

/**
 * An error whose message holds words of others: upstream's, which may quote a message's text. What of it may be logged,
 * it says itself.
 */
export interface DiscreetError {
  readonly logWords: string;
}

const LONGEST_WORDS = 500;
const MOST_PLACES = 12;
const MOST_CAUSES = 4;

/** What of an error's message may be logged, on one line. */
export function logWords(error: unknown): string {
  if (!isObject(error)) return 'something was thrown that is no error';
  if (typeof error['logWords'] === 'string') return shortened(error['logWords']);
  // A parser quotes what it could not read.
  if (error['name'] === 'SyntaxError') return 'a text could not be parsed';
  return shortened(typeof error['message'] === 'string' ? error['message'] : '');
}

/**
 * An error as the log shows it: its kind, words, code, places and causes, and nothing else that it carries. The error of
 * an HTTP client has the whole request, its key included; that of a Redis command has the command's arguments.
 *
 * By shape, not by class: where code runs in a context of its own, Node's errors are of another realm's class.
 */
export function loggedError(error: unknown, causes = MOST_CAUSES): LoggedError {
  if (!isObject(error)) return { type: typeof error, words: logWords(error) };
  const { name, code, stack, cause } = error;
  const places = typeof stack === 'string' ? placesOf(stack) : [];
  return {
    type: typeof name === 'string' ? shortened(name) : 'unknown',
    words: logWords(error),
    ...(typeof code === 'string' || typeof code === 'number' ? { code: shortened(String(code)) } : {}),
    ...(places.length === 0 ? {} : { stack: places }),
    ...(cause === undefined || causes === 0 ? {} : { cause: loggedError(cause, causes - 1) }),
  };
}

function placesOf(stack: string): string[] {
  const places = stack.split('\n').flatMap((line) => /^\s+at (.*)$/.exec(line)?.[1] ?? []);
  return places.slice(0, MOST_PLACES).map(shortened);
}

function shortened(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, LONGEST_WORDS);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
