import { isRecord } from '#platform';
import { JsonListScanner, type ScannedElement } from './json-list-scanner.js';
import { UpstreamReplyUnreadableError } from '../upstream-error.js';

/** A list from an upstream reply: its readable elements, and the number of its unreadable elements. */
export interface ParsedList<T> {
  items: T[];
  skipped: number;
  /**
   * For each skipped element, a text that identifies the element: its JSON, or its size and its beginning.
   * Absent if no element was skipped.
   */
  unreadable?: readonly string[];
}

/** Usual names of the reply's field that contains the list. The reply may also be the list itself. */
const ENVELOPES = ['data', 'items', 'results'];

/** Parses one element of a list. Returns undefined if the element is unreadable. */
export type ParseElement<T> = (value: unknown) => T | undefined;

/**
 * Maximum length of the beginning of an element, in bytes. {@link ParsedList.unreadable} contains only the beginning
 * if the element is too large or nested too deeply.
 */
const BEGINNING_BYTES = 256;

/**
 * Reads a list from a reply that arrives in chunks. {@link findListInReply} says where in the reply the list may be.
 * An unreadable element does not affect the other elements.
 */
export class ReplyListReader<T> {
  /**
   * The elements of each list in the reply. The key is the position of the list among all lists of the reply, from 0.
   * Only the end of the reply shows which of the lists is wanted. Empty lists have no entry.
   */
  private readonly lists = new Map<number, { items: T[]; unreadable: string[] }>();
  private readonly scanner: JsonListScanner;

  constructor(
    private readonly name: string,
    private readonly parse: ParseElement<T>,
    maxElements: number,
  ) {
    this.scanner = new JsonListScanner(maxElements, (element) => {
      this.take(element);
    });
  }

  /**
   * Reads the next chunk of the reply.
   * @throws {UpstreamReplyUnreadableError} if the chunk makes the reply invalid or too large
   */
  push(chunk: Buffer): void {
    this.scanner.push(chunk);
  }

  /**
   * Ends the reading and returns the list.
   * @throws {UpstreamReplyUnreadableError} if the reply is not JSON or the list is missing, so that an error page does
   * not look like an empty list
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
    const value = parseListElement(bytes);
    const item = this.parse(value);
    if (item === undefined) into.unreadable.push(JSON.stringify(value));
    else into.items.push(item);
  }
}

/**
 * Reads a list from a whole reply, by the same rules as {@link ReplyListReader}.
 * @throws {UpstreamReplyUnreadableError} if the reply is not JSON, contains no list, or is too large
 */
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

/** Parses the JSON of one element of a list. @throws {UpstreamReplyUnreadableError} if `json` is not JSON */
export function parseListElement(json: Buffer): unknown {
  return parseJsonReply(json.toString());
}

/**
 * Matches an id that is a JSON number of 16 or more digits. A number above 2^53 would lose digits in parsing,
 * so that two ids could become equal. The pattern cannot match inside a string, because quotes are escaped
 * there.
 */
const LONG_NUMERIC_ID = /"id"(\s*:\s*)(-?\d{16,})(?=\s*[,}])/g;

/**
 * Returns the text of a reply with long numeric ids turned into strings, so that no digit is lost in parsing.
 */
export function quoteLongNumericIds(text: string): string {
  return text.replace(LONG_NUMERIC_ID, '"id"$1"$2"');
}

/**
 * Parses a reply or a part of a reply. Long numeric ids become strings, so that no digit is lost.
 * @throws {UpstreamReplyUnreadableError} if `text` is not JSON
 */
export function parseJsonReply(text: string): unknown {
  try {
    return JSON.parse(quoteLongNumericIds(text));
  } catch {
    throw new UpstreamReplyUnreadableError('the reply is not JSON');
  }
}

/**
 * A list in a reply. The list may be nested in one or two objects. `otherFields`: the remaining fields of these
 * objects.
 */
interface FoundList {
  list: unknown[];
  otherFields: Readonly<Record<string, unknown>>;
}

/**
 * Finds the list in a parsed reply. The list is the reply itself, or is in a field of the reply whose name is `name`
 * or one of {@link ENVELOPES}. If that field contains an object, the list is in the field `name` of this object.
 * @throws {UpstreamReplyUnreadableError} if there is no list
 */
export function findListInReply(body: unknown, name: string): FoundList {
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
  throw new UpstreamReplyUnreadableError(`the reply holds no list of ${name}`);
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}
