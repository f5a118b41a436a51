import { ListScanner, type ScannedElement } from './list-scanner.js';
import { isRecord } from './message.js';
import { UpstreamReplyError } from '../upstream-error.js';

/** What could be read of a list, and how many of its elements could not. */
export interface ParsedList<T> {
  items: T[];
  skipped: number;
  /** What tells the skipped elements apart, one a different element; absent if there are none. */
  unreadable?: readonly string[];
}

/** The names under which lists are known to come, besides a bare array. */
const ENVELOPES = ['data', 'items', 'results'];

/** Reads one element of a list, or undefined if it cannot be read. */
export type ParseElement<T> = (value: unknown) => T | undefined;

/** How much of an element that is not parsed tells it apart from others. */
const BEGINNING_BYTES = 256;

/**
 * Reads a list out of a reply while its bytes come: a bare array, or an array under `name` or a usual envelope.
 * One unreadable element does not stop the others.
 */
export class ReplyListReader<T> {
  /** By their numbers; those without elements are left out. */
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

  /** @throws {UpstreamReplyError} if it cannot be the next part of a reply that holds a list */
  push(chunk: Buffer): void {
    this.scanner.push(chunk);
  }

  /**
   * @throws {UpstreamReplyError} if the reply is not JSON or holds no such list: an error page must never look like an
   * empty list.
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

/** Reads a list out of a whole reply, as {@link ReplyListReader} does. @throws {UpstreamReplyError} */
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
