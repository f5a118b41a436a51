const WARNING = 40;
const ERROR = 50;

/**
 * Returns the console text of a log line, or undefined if the line is not shown. Only warnings and errors are
 * shown. A log line is JSON with pino's fields.
 */
export function consoleLineOf(line: string): string | undefined {
  const entry = parse(line);
  if (typeof entry !== 'object' || entry === null) return undefined;
  const level = 'level' in entry && typeof entry.level === 'number' ? entry.level : 0;
  if (level < WARNING) return undefined;
  const message = 'msg' in entry && typeof entry.msg === 'string' ? entry.msg : '';
  const reason = 'err' in entry ? messageOf(entry.err) : undefined;
  const words = [message, reason].filter((part) => part !== undefined && part !== '' && part !== message);
  return `${level >= ERROR ? 'error' : 'warning'}: ${[message, ...words].filter((part) => part !== '').join(': ')}`;
}

function messageOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('message' in error)) return undefined;
  return typeof error.message === 'string' ? error.message : undefined;
}

function parse(line: string): unknown {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
