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
  const { list } = findList(parseReply(text), name);
  const items: T[] = [];
  const unreadable: string[] = [];
  for (const value of list) {
    const item = parse(value);
    if (item === undefined) unreadable.push(textOf(value));
    else items.push(item);
  }
  const skipped = unreadable.length;
  return skipped === 0 ? { items, skipped } : { items, skipped, unreadable };
}

/** What can be read may still be nested too deeply to be written. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return 'nested too deeply';
  }
}

/**
 * An id beyond 2^53 as JSON's number: read as a number it would lose digits, and two ids could become one.
 * Within a JSON text, quotes that are not escaped stand around keys and texts only.
 */
const LONG_NUMERIC_ID = /"id"(\s*:\s*)(-?\d{16,})(?=\s*[,}])/g;

/** The text of a reply with its ids to the digit. */
export function withExactIds(text: string): string {
  return text.replace(LONG_NUMERIC_ID, '"id"$1"$2"');
}

/** @throws {UpstreamReplyError} if it is not JSON */
export function parseReply(text: string): unknown {
  try {
    return JSON.parse(withExactIds(text));
  } catch {
    throw new UpstreamReplyError('the reply is not JSON');
  }
}

/** A list, and the fields beside it and beside what it stands in. */
interface FoundList {
  list: unknown[];
  beside: Readonly<Record<string, unknown>>;
}

/** @throws {UpstreamReplyError} if there is none */
export function findList(body: unknown, name: string): FoundList {
  if (isList(body)) return { list: body, beside: {} };
  if (isRecord(body)) {
    for (const envelope of [name, ...ENVELOPES]) {
      const { [envelope]: inner, ...beside } = body;
      if (isList(inner)) return { list: inner, beside };
      if (!isRecord(inner)) continue;
      const { [name]: list, ...further } = inner;
      if (isList(list)) return { list, beside: { ...beside, ...further } };
    }
  }
  throw new UpstreamReplyError(`the reply holds no list of ${name}`);
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}
