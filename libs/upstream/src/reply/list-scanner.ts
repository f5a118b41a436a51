import { findList } from './reply-list.js';
import { UpstreamReplyError, UpstreamReplyTooLargeError } from '../upstream-error.js';

/** An element nested deeper than this is unreadable: what works on values of JSON recursively must not run out of stack. */
export const MAX_DEPTH = 64;
/** A larger element is unreadable, and what stands beside the lists of a reply is no larger either; in bytes. */
const MAX_PART_BYTES = 16 * 1024 * 1024;
/** A list stands at the top, under a name, or under a name of what stands under a name. */
const MAX_LIST_DEPTH = 3;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_RECORD = 0x7b;
const CLOSE_RECORD = 0x7d;
/** What JSON counts as blank. */
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09]);

/** An element of one of the lists in a reply. */
export interface ScannedElement {
  /** Which list it is in, by the order in which they begin. */
  list: number;
  /** Its JSON, not checked; only the beginning of it if it is not readable. The bytes are valid until the call returns. */
  bytes: Buffer;
  /** Not if it is nested too deeply or too large. */
  readable: boolean;
}

/**
 * Finds the elements of the lists in a reply while its bytes come, without holding more than one of them. Only brackets,
 * commas and quotes are looked at: what an element says is checked by whoever parses it. What stands around the lists is
 * kept, with the number of each list in place of its elements, and parsed at the end: so the list that is meant is found
 * by the same rule as in a whole reply, and a reply that breaks off is never taken for a shorter list.
 */
export class ListScanner {
  /** What stands around the lists. */
  private readonly around: Buffer[] = [];
  private aroundBytes = 0;
  private lists = 0;
  private elements = 0;
  private depth = 0;
  private inText = false;
  private isEscaped = false;
  /** Where in the reply the next byte stands. */
  private where: 'around' | 'list' | 'element' = 'around';
  /** In a list: what may come next. */
  private after: 'start' | 'element' | 'comma' = 'start';
  private depthInElement = 0;
  private isTooDeep = false;
  /** The beginning of an element that began in an earlier chunk. */
  private begun: Buffer[] = [];
  private begunBytes = 0;

  /**
   * @param maxElements in all lists of the reply together
   * @param onElement gets each element as soon as it is complete
   */
  constructor(
    private readonly maxElements: number,
    private readonly onElement: (element: ScannedElement) => void,
  ) {}

  /** @throws {UpstreamReplyError} if it cannot be the next part of a reply that holds a list */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.where === 'around') at = this.scanAround(chunk, at);
      else if (this.where === 'list') at = this.scanList(chunk, at);
      else at = this.scanElement(chunk, at);
    }
  }

  /**
   * Which of the lists is the one that is called `name`, or comes in a usual envelope.
   * @throws {UpstreamReplyError} if there is none, or the reply is not whole
   */
  end(name: string): number {
    if (this.where !== 'around' || this.depth > 0) throw notJson();
    const text = Buffer.concat(this.around).toString();
    let body: unknown;
    try {
      body = JSON.parse(text.replace(/^\uFEFF/, ''));
    } catch {
      throw notJson();
    }
    const [list] = findList(body, name).list;
    return Number(list);
  }

  /** Answers where it ended: at the end of the chunk, or behind the bracket that opens a list. */
  private scanAround(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length) {
      if (this.inText) {
        at = this.scanText(chunk, at);
        continue;
      }
      const byte = chunk[at];
      at += 1;
      if (byte === QUOTE) this.inText = true;
      else if (byte === OPEN_LIST || byte === OPEN_RECORD) {
        this.depth += 1;
        if (this.depth > MAX_DEPTH) throw new UpstreamReplyError('the reply is nested too deeply');
        if (byte === OPEN_LIST && this.depth <= MAX_LIST_DEPTH) {
          this.keepAround(chunk.subarray(from, at));
          this.keepAround(Buffer.from(String(this.lists)));
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

  /** Between two elements. Answers where the next element begins, or where the list ended, behind its bracket. */
  private scanList(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte === CLOSE_LIST) {
        if (this.after === 'comma') throw notJson();
        this.keepAround(chunk.subarray(at, at + 1));
        this.depth -= 1;
        this.lists += 1;
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

  /** Within an element. Answers where it ended: at a comma or at the end of its list; or at the end of the chunk. */
  private scanElement(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length) {
      if (this.inText) {
        at = this.scanText(chunk, at);
        continue;
      }
      const byte = chunk[at];
      if (byte === QUOTE) this.inText = true;
      else if (byte === OPEN_RECORD || byte === OPEN_LIST) {
        this.depthInElement += 1;
        if (this.depthInElement > MAX_DEPTH) this.isTooDeep = true;
      } else if (byte === CLOSE_RECORD || byte === CLOSE_LIST) {
        if (this.depthInElement === 0) return this.endElement(chunk, from, at);
        this.depthInElement -= 1;
      } else if (byte === COMMA && this.depthInElement === 0) return this.endElement(chunk, from, at);
      at += 1;
    }
    this.begunBytes += at - from;
    if (this.isReadable() || this.begun.length === 0) {
      // The chunk is not ours to keep.
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
    this.onElement({ list: this.lists, bytes, readable });
    return to;
  }

  private isReadable(): boolean {
    return !this.isTooDeep && this.begunBytes <= MAX_PART_BYTES;
  }

  /** Within a text. Answers where it ended, behind its quote; or the end of the chunk. */
  private scanText(chunk: Buffer, from: number): number {
    let at = from;
    if (this.isEscaped) {
      this.isEscaped = false;
      at += 1;
    }
    for (; at < chunk.length; at += 1) {
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
    this.aroundBytes += bytes.length;
    if (this.aroundBytes > MAX_PART_BYTES) throw new UpstreamReplyTooLargeError(MAX_PART_BYTES);
    this.around.push(Buffer.from(bytes));
  }
}

function notJson(): UpstreamReplyError {
  return new UpstreamReplyError('the reply is not JSON');
}
