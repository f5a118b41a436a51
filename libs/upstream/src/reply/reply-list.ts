import { ListScanner, type ScannedElement } from './list-scanner.js';
import { isRecord } from './message.js';
import { UpstreamReplyError } from '../upstream-error.js';

/** The readable elements of a list, and the number of unreadable ones. */
export interface ParsedList<T> {
  items: T[];
  skipped: number;
  /** One text for each skipped element; different elements have different texts. Absent if no element was skipped. */
  unreadable?: readonly string[];
}

/** Usual names of the field that contains a list. A list may also be a bare array. */
const ENVELOPES = ['data', 'items', 'results'];

/** Parses one element of a list. Returns undefined if the element is unreadable. */
export type ParseElement<T> = (value: unknown) => T | undefined;

/** Number of bytes that identify an element that is not parsed. */
const BEGINNING_BYTES = 256;

/**
 * Reads a list from a streamed reply: a bare array, or an array under `name` or a usual envelope. An unreadable
 * element does not affect the others.
 */
export class ReplyListReader<T> {
  /** Elements of each list of the reply, by its number. Empty lists are left out. */
  private readonly lists = new Map<number, { items: T[]; unreadable: string[] }>();
  private readonly scanner: ListScanner;

  constructor(
    private readonly name: string,
    private readonly parse: ParseElement<T>,
    maxElements: number,
  ) {
    this.scanner = new ListScanner(maxElements, (element) => {
      this.take(element);
    });
  }

  /** @throws {UpstreamReplyError} if the chunk cannot continue a reply with a list */
  push(chunk: Buffer): void {
    this.scanner.push(chunk);
  }

  /**
   * Returns the list.
   * @throws {UpstreamReplyError} if the reply is not JSON or has no such list: an error page must not look like an
   * empty list
   */
  end(): ParsedList<T> {
    const { items, unreadable } = this.lists.get(this.scanner.end(this.name)) ?? {
      items: [],
      unreadable: [],
    };
    const skipped = unreadable.length;
    return skipped === 0 ? { items, skipped } : { items, skipped, unreadable };
  }

  private take({ list, bytes, readable }: ScannedElement): void {
    const into = this.lists.get(list) ?? { items: [], unreadable: [] };
    this.lists.set(list, into);
    if (!readable) {
      into.unreadable.push(`${bytes.length} bytes: ${bytes.toString('utf8', 0, BEGINNING_BYTES)}`);
      return;
    }
    const value = parseElement(bytes);
    const item = this.parse(value);
    if (item === undefined) into.unreadable.push(JSON.stringify(value));
    else into.items.push(item);
  }
}

/** Reads a list from a whole reply, like {@link ReplyListReader}. @throws {UpstreamReplyError} */
export function parseReplyList<T>(
  text: string,
  name: string,
  parse: ParseElement<T>,
  maxElements = Infinity,
): ParsedList<T> {
  const reader = new ReplyListReader(name, parse, maxElements);
  reader.push(Buffer.from(text));
  return reader.end();
}

/** @throws {UpstreamReplyError} if it is not JSON */
export function parseElement(json: Buffer): unknown {
  return parseReply(json.toString());
}

/**
 * Matches an id of 16 or more digits that is a JSON number. Parsed as a number above 2^53, it would lose digits, and two
 * ids could become equal. The pattern cannot match inside a string, because quotes are escaped there.
 */
const LONG_NUMERIC_ID = /"id"(\s*:\s*)(-?\d{16,})(?=\s*[,}])/g;

/** Returns the text of a reply with long numeric ids as strings, so that no digit is lost. */
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

/** A list, and the other fields of the objects that contain it. */
interface FoundList {
  list: unknown[];
  otherFields: Readonly<Record<string, unknown>>;
}

/** Finds the list in a parsed reply. @throws {UpstreamReplyError} if there is no list */
export function findList(body: unknown, name: string): FoundList {
  if (isList(body)) return { list: body, otherFields: {} };
  if (isRecord(body)) {
    for (const envelope of [name, ...ENVELOPES]) {
      const { [envelope]: inner, ...otherFields } = body;
      if (isList(inner)) return { list: inner, otherFields };
      if (!isRecord(inner)) continue;
      const { [name]: list, ...further } = inner;
      if (isList(list)) return { list, otherFields: { ...otherFields, ...further } };
    }
  }
  throw new UpstreamReplyError(`the reply holds no list of ${name}`);
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}
