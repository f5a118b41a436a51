import { findListInReply, listFieldsOf } from './reply-envelope.js';
import { UpstreamReplyUnreadableError, UpstreamReplyTooLargeError } from '../upstream-error.js';

/**
 * Maximum nesting depth of a list's element. A deeper element counts as unreadable, because recursive code would run
 * out of stack. It is also the maximum nesting depth outside the lists; if the reply is deeper there, it is rejected.
 */
const MAX_JSON_DEPTH = 64;
/**
 * Maximum size of a list's element, in bytes; a larger element counts as unreadable. It is also the maximum
 * size of all the text outside the lists; if that text is larger, the reply is rejected.
 */
const MAX_PART_BYTES = 16 * 1024 * 1024;
/**
 * Maximum nesting depth at which an array counts as a list of the reply. 1: the array is the whole reply. 2: it is a
 * field of the reply. 3: it is a field of an object that is a field of the reply.
 */
const MAX_LIST_DEPTH = 3;
/**
 * Maximum number of lists in one reply whose field names allow them to be the wanted list. Each such list costs
 * memory, even if it is empty. Any other list costs only its text outside the elements.
 */
const MAX_WANTED_LISTS = 1_000;
/** Initial size of the memory for the text outside the lists, in bytes. */
const INITIAL_AROUND_BYTES = 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_RECORD = 0x7b;
const CLOSE_RECORD = 0x7d;
/**
 * Length of a JSON string, in bytes, above which a native search finds the end of the string faster than a
 * loop.
 */
const MAX_SHORT_TEXT = 64;
/** Bytes that JSON counts as whitespace. */
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09]);

/** An element of one of the lists in a reply. */
export interface ScannedElement {
  /**
   * Number of the list that contains the element. The lists that may be the wanted list are numbered from 0, in the
   * order in which they begin.
   */
  list: number;
  /**
   * JSON text of the element, not validated. If the element is unreadable, this may be only its beginning.
   * The bytes are valid only until the callback returns.
   */
  bytes: Buffer;
  /** False if the element is too large or nested too deeply. */
  readable: boolean;
}

/**
 * Finds the elements of the lists in a reply that arrives in chunks, and keeps only one element in memory. It looks
 * only at brackets, commas and quotes, so the callback must validate each element. The wanted list is the list of
 * contacts or messages. Elements of a list that cannot be the wanted list are dropped. At the end, it parses the text
 * outside the lists, and rejects an incomplete reply.
 */
export class JsonListScanner {
  /**
   * The text of the reply, in which the elements of each list are replaced by the number of the list, or by nothing
   * if the list cannot be the wanted list. Example: `{"contacts":[0],"labels":[]}`. Only the first
   * {@link aroundBytes} bytes are used.
   */
  private around = Buffer.alloc(INITIAL_AROUND_BYTES);
  private aroundBytes = 0;
  /**
   * Matches the quoted name of a field that may contain the list of contacts or messages, at the end of a text. The
   * colon and the whitespace after the name must be removed from the text first.
   */
  private readonly wantedField: RegExp;
  /**
   * Matches the quoted name of the list's field, at the end of a text. Used for a list in an inner object of the
   * reply, such as the object in the field `data`.
   */
  private readonly wantedInnerField: RegExp;
  private readonly longestField: number;
  /** True if the current list may be the wanted list. */
  private isWanted = false;
  private lists = 0;
  private elements = 0;
  private depth = 0;
  private inText = false;
  private isEscaped = false;
  /** The part of the reply to which the next byte belongs. `around`: the text outside the lists. */
  private where: 'around' | 'list' | 'element' = 'around';
  /** The token that was read last in the current list. `start` stands for the opening bracket. */
  private after: 'start' | 'element' | 'comma' = 'start';
  private depthInElement = 0;
  private isTooDeep = false;
  /** Beginning of the current element, if the element started in an earlier chunk. */
  private begun: Buffer[] = [];
  private begunBytes = 0;

  /**
   * @param name name of the field that should contain the list; other usual names, such as `data`, are tried too
   * @param maxElements maximum number of elements in all lists of the reply together
   * @param onElement receives each element of a list that may be the wanted list, as soon as the element is complete
   */
  constructor(
    private readonly name: string,
    private readonly maxElements: number,
    private readonly onElement: (element: ScannedElement) => void,
  ) {
    const fields = listFieldsOf(name);
    this.wantedField = new RegExp(`"(?:${fields.join('|')})"$`);
    this.wantedInnerField = new RegExp(`"${name}"$`);
    this.longestField = Math.max(...fields.map((field) => field.length)) + 2;
  }

  /**
   * Scans the next chunk of the reply.
   * @throws {UpstreamReplyUnreadableError} if the chunk makes the reply invalid or too large
   */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.where === 'around') at = this.scanAround(chunk, at);
      else if (this.where === 'list') at = this.scanList(chunk, at);
      else at = this.scanElement(chunk, at);
    }
  }

  /**
   * Ends the scan and finds the list of contacts or messages in the reply, as {@link findListInReply} does. Returns
   * the number of the list; see {@link ScannedElement.list}.
   * @throws {UpstreamReplyUnreadableError} if the list is missing or the reply is incomplete
   */
  end(): number {
    if (this.where !== 'around' || this.depth > 0) throw notJson();
    const text = this.around.toString('utf8', 0, this.aroundBytes);
    let body: unknown;
    try {
      body = JSON.parse(text.replace(/^\uFEFF/, ''));
    } catch {
      throw notJson();
    }
    const [list] = findListInReply(body, this.name).list;
    // The list was not recognized by the text before it, for example because the name of its field has escapes.
    if (list === undefined) throw new UpstreamReplyUnreadableError('the name of the list cannot be read');
    return Number(list);
  }

  /**
   * Scans text outside the lists. Returns the offset after the bracket that opens a list, or the length of
   * the chunk if no list begins.
   */
  private scanAround(chunk: Buffer, from: number): number {
    let at = this.inText ? this.scanText(chunk, from) : from;
    while (at < chunk.length) {
      const byte = chunk[at] ?? 0;
      at += 1;
      if (byte < OPEN_LIST) {
        if (byte === QUOTE) at = this.scanText(chunk, at);
      } else if (byte === OPEN_LIST || byte === OPEN_RECORD) {
        this.depth += 1;
        if (this.depth > MAX_JSON_DEPTH)
          throw new UpstreamReplyUnreadableError('the reply is nested too deeply');
        if (byte === OPEN_LIST && this.depth <= MAX_LIST_DEPTH) {
          this.keepAround(chunk.subarray(from, at));
          this.beginList();
          this.where = 'list';
          this.after = 'start';
          return at;
        }
      } else if (byte === CLOSE_LIST || byte === CLOSE_RECORD) {
        this.depth -= 1;
        if (this.depth < 0) throw notJson();
      }
    }
    this.keepAround(chunk.subarray(from, at));
    return at;
  }

  private beginList(): void {
    this.isWanted = this.mayBeWanted();
    if (!this.isWanted) return;
    if (this.lists >= MAX_WANTED_LISTS) throw new UpstreamReplyTooLargeError(MAX_WANTED_LISTS, 'lists');
    this.keepAround(Buffer.from(String(this.lists)));
  }

  /** Returns true if the list that has just begun is the whole reply, or its field has one of the usual names. */
  private mayBeWanted(): boolean {
    if (this.depth === 1) return true;
    let end = this.endWithoutBlanks(this.aroundBytes - 1);
    if (this.around[end - 1] !== COLON) return false;
    end = this.endWithoutBlanks(end - 1);
    const wanted = this.depth === MAX_LIST_DEPTH ? this.wantedInnerField : this.wantedField;
    return wanted.test(this.around.toString('latin1', Math.max(end - this.longestField, 0), end));
  }

  private endWithoutBlanks(from: number): number {
    let end = from;
    while (end > 0 && BLANKS.has(this.around[end - 1] ?? 0)) end -= 1;
    return end;
  }

  /**
   * Scans text between two elements of a list. Returns the offset of the next element, the offset after the
   * end of the list, or the length of the chunk if neither is found.
   */
  private scanList(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte === CLOSE_LIST) {
        if (this.after === 'comma') throw notJson();
        this.keepAround(chunk.subarray(at, at + 1));
        this.depth -= 1;
        if (this.isWanted) this.lists += 1;
        this.where = 'around';
        return at + 1;
      }
      if (byte === COMMA) {
        if (this.after !== 'element') throw notJson();
        this.after = 'comma';
      } else if (!BLANKS.has(byte)) {
        if (this.after === 'element') throw notJson();
        this.where = 'element';
        this.depthInElement = 0;
        this.isTooDeep = false;
        return at;
      }
    }
    return chunk.length;
  }

  /**
   * Scans an element of a list. Returns the offset of the comma or bracket after the element, or the length
   * of the chunk if the element does not end in this chunk.
   */
  private scanElement(chunk: Buffer, from: number): number {
    let at = this.inText ? this.scanText(chunk, from) : from;
    while (at < chunk.length) {
      const byte = chunk[at];
      if (byte === QUOTE) {
        at = this.scanText(chunk, at + 1);
        continue;
      }
      if (byte === OPEN_RECORD || byte === OPEN_LIST) {
        this.depthInElement += 1;
        if (this.depthInElement > MAX_JSON_DEPTH) this.isTooDeep = true;
      } else if (byte === CLOSE_RECORD || byte === CLOSE_LIST) {
        if (this.depthInElement === 0) return this.endElement(chunk, from, at);
        this.depthInElement -= 1;
      } else if (byte === COMMA && this.depthInElement === 0) return this.endElement(chunk, from, at);
      at += 1;
    }
    this.begunBytes += at - from;
    if (this.isReadable() || this.begun.length === 0) {
      // Copies the bytes, because the caller may reuse the memory of the chunk.
      this.begun.push(Buffer.from(chunk.subarray(from, at)));
    }
    return at;
  }

  private endElement(chunk: Buffer, from: number, to: number): number {
    this.elements += 1;
    if (this.elements > this.maxElements) throw new UpstreamReplyTooLargeError(this.maxElements, 'elements');
    const rest = chunk.subarray(from, to);
    this.begunBytes += rest.length;
    const readable = this.isReadable();
    const bytes = this.begun.length === 0 ? rest : Buffer.concat([...this.begun, rest]);
    this.begun = [];
    this.begunBytes = 0;
    this.where = 'list';
    this.after = 'element';
    if (this.isWanted) this.onElement({ list: this.lists, bytes, readable });
    return to;
  }

  private isReadable(): boolean {
    return !this.isTooDeep && this.begunBytes <= MAX_PART_BYTES;
  }

  /**
   * Scans a JSON string whose opening quote was already read. Returns the offset after its closing quote, or
   * the length of the chunk if the string does not end in this chunk.
   */
  private scanText(chunk: Buffer, from: number): number {
    let at = from;
    this.inText = true;
    if (this.isEscaped) {
      this.isEscaped = false;
      at += 1;
    }
    let searchFrom = at + MAX_SHORT_TEXT;
    for (; at < chunk.length; at += 1) {
      if (at >= searchFrom) {
        const start = at;
        at = chunk.indexOf(QUOTE, at);
        if (at === -1) at = chunk.length;
        // A quote is escaped if an odd number of backslashes precedes it.
        let backslashes = 0;
        while (at - backslashes > start && chunk[at - backslashes - 1] === BACKSLASH) backslashes += 1;
        if (backslashes % 2 === 1) at -= 1;
        if (at >= chunk.length) return chunk.length;
        searchFrom = at + MAX_SHORT_TEXT;
      }
      const byte = chunk[at];
      if (byte === QUOTE) {
        this.inText = false;
        return at + 1;
      }
      if (byte === BACKSLASH) {
        at += 1;
        if (at >= chunk.length) this.isEscaped = true;
      }
    }
    return chunk.length;
  }

  private keepAround(bytes: Buffer): void {
    const end = this.aroundBytes + bytes.length;
    if (end > MAX_PART_BYTES) throw new UpstreamReplyTooLargeError(MAX_PART_BYTES);
    if (end > this.around.length) {
      const larger = Buffer.alloc(Math.max(end, 2 * this.around.length));
      this.around.copy(larger);
      this.around = larger;
    }
    bytes.copy(this.around, this.aroundBytes);
    this.aroundBytes = end;
  }
}

function notJson(): UpstreamReplyUnreadableError {
  return new UpstreamReplyUnreadableError('the reply is not JSON');
}
