import { JsonListScanner, type ScannedElement } from './json-list-scanner.js';
import { parseListElement } from './reply-json.js';

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

/** Parses one element of a list. Returns undefined if the element is unreadable. */
export type ParseElement<T> = (value: unknown) => T | undefined;

/**
 * Maximum length of the beginning of an element, in bytes. {@link ParsedList.unreadable} contains only the beginning
 * if the element is too large or nested too deeply.
 */
const BEGINNING_BYTES = 256;

/**
 * Reads a list from a reply that arrives in chunks. `findListInReply` says where in the reply the list may be.
 * An unreadable element does not affect the other elements.
 */
export class ReplyListReader<T> {
  /**
   * The elements of each list in the reply. The key is the number of the list; see `ScannedElement.list`. Only the
   * end of the reply shows which of the lists is wanted. Empty lists have no entry.
   */
  private readonly lists = new Map<number, { items: T[]; unreadable: string[] }>();
  private readonly scanner: JsonListScanner;

  constructor(
    name: string,
    private readonly parse: ParseElement<T>,
    maxElements: number,
  ) {
    this.scanner = new JsonListScanner(name, maxElements, (element) => {
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
   * @throws {UpstreamReplyUnreadableError} if the reply is not JSON or the list is missing, so that an error page
   * does not look like an empty list
   */
  end(): ParsedList<T> {
    const { items, unreadable } = this.lists.get(this.scanner.end()) ?? {
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
