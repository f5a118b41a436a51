const WARNING = 40;
const ERROR = 50;

/**
 * Returns the console text of a log line, or undefined if the line is not shown. Only warnings and errors are
 * shown, with their reason. A log line is JSON with pino's fields.
 */
export function consoleLineOf(line: string): string | undefined {
  const entry = parse(line);
  if (typeof entry !== 'object' || entry === null) return undefined;
  const level = 'level' in entry && typeof entry.level === 'number' ? entry.level : 0;
  if (level < WARNING) return undefined;
  const message = 'msg' in entry && typeof entry.msg === 'string' ? entry.msg : '';
  const parts = [message, ...reasonsOf(entry)].filter((part) => part !== '');
  return `${level >= ERROR ? 'error' : 'warning'}: ${[...new Set(parts)].join(': ')}`;
}

/** Returns why a log entry was written: its field `reason`, or its error and the causes of that error. */
function reasonsOf(entry: object): string[] {
  if ('reason' in entry && typeof entry.reason === 'string') return [entry.reason];
  const reasons: string[] = [];
  let error: unknown = 'err' in entry ? entry.err : 'error' in entry ? { words: entry.error } : undefined;
  while (typeof error === 'object' && error !== null) {
    if ('words' in error && typeof error.words === 'string') reasons.push(error.words);
    error = 'cause' in error ? error.cause : undefined;
  }
  return reasons;
}

function parse(line: string): unknown {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
