import { isRecord } from './message.js';
import { UpstreamReplyError } from './upstream-error.js';

/** What could be read of a list, and how many of its elements could not. */
export interface ParsedList<T> {
  items: T[];
  skipped: number;
  /** What tells the skipped elements apart, one a different element; absent if there are none. */
  unreadable?: readonly string[];
}

/** The names under which lists are known to come, besides a bare array. */
const ENVELOPES = ['data', 'items', 'results'];

/**
 * Reads a list out of a reply's JSON text: a bare array, or an array under `name` or a usual envelope.
 * One unreadable element does not stop the others.
 * @throws {UpstreamReplyError} if the text is not JSON or holds no such list: an error page must never look like
 * an empty list.
 */
export function parseReplyList<T>(
  text: string,
  name: string,
  parse: (value: unknown) => T | undefined,
): ParsedList<T> {
  const list = findList(parseJson(text), name);
  if (list === undefined) throw new UpstreamReplyError(`the reply holds no list of ${name}`);
  const items: T[] = [];
  const unreadable: string[] = [];
  for (const value of list) {
    const item = parse(value);
    if (item === undefined) unreadable.push(JSON.stringify(value));
    else items.push(item);
  }
  const skipped = unreadable.length;
  return skipped === 0 ? { items, skipped } : { items, skipped, unreadable };
}

/**
 * An id beyond 2^53 as JSON's number: read as a number it would lose digits, and two ids could become one.
 * Within a JSON text, quotes that are not escaped stand around keys and texts only.
 */
const LONG_NUMERIC_ID = /"id"(\s*:\s*)(-?\d{16,})(?=\s*[,}])/g;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(LONG_NUMERIC_ID, '"id"$1"$2"'));
  } catch {
    throw new UpstreamReplyError('the reply is not JSON');
  }
}

function findList(body: unknown, name: string): unknown[] | undefined {
  if (isList(body)) return body;
  if (!isRecord(body)) return undefined;
  for (const envelope of [name, ...ENVELOPES]) {
    const inner = body[envelope];
    if (isList(inner)) return inner;
    if (isRecord(inner) && isList(inner[name])) return inner[name];
  }
  return undefined;
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}
