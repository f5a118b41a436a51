import {
  type MessagePage,
  UpstreamError,
  UpstreamReplyError,
  type UpstreamMessage,
  UpstreamStatusError,
  UpstreamUnreachableError,
} from '#upstream';
import {
  FAILING_MESSAGE_PLACEHOLDER,
  readPageInParts,
  type IsMessageFault,
  type ReadPage,
} from './read-in-parts.js';

/** Documented page size of upstream. */
export const PAGE_LIMIT = 20;
/**
 * Page limit for reads of many messages, used once upstream has shown that it honours more than {@link
 * PAGE_LIMIT}.
 */
export const LARGE_PAGE_LIMIT = 100;
/**
 * Minimum page size to assume. With 1, a contact's first message would look like a full page, and each read of
 * the newest messages would cost a second request.
 */
const MIN_PAGE_SIZE = 2;

/** Filters ids: returns the known ones. */
export type KnownIds = (ids: readonly string[]) => Promise<ReadonlySet<string>>;

/** One page of messages, compared with the known ids. */
export interface PageRead {
  items: readonly UpstreamMessage[];
  ids: readonly string[];
  limit: number;
  /** Number of elements on the page, unreadable ones included. */
  count: number;
  /** True if no page requested with this limit was longer. */
  full: boolean;
  /** Ids that were neither known before nor on an earlier page of this read. */
  newIds: readonly string[];
  /** True if the last message of the page was not known before this read. */
  lastIsNew: boolean;
  /** True if the first message of the page was not known before this read. */
  firstIsNew: boolean;
  /** Ids that no earlier page contained since the last start at the first page. */
  added: ReadonlySet<string>;
  /**
   * True if every message of the page was on an earlier page since the last call of {@link
   * PageReader.beginPass}.
   */
  repeats: boolean;
}

/** Initial state of a {@link PageReader}. */
export interface PageSizes {
  /** Number of messages on the contact's longest page: a shorter page is the last one. */
  pageSize: number;
}

/** Reads pages of one contact and records what the pages contained. */
export class PageReader {
  /** Messages that were read and not yet {@link release}d, in their latest form, in upstream's order. */
  readonly seen = new Map<string, UpstreamMessage>();
  /** Ids of all messages that were read. */
  readonly ids = new Set<string>();
  /** Ids that were not known before this read. */
  readonly newIds = new Set<string>();
  /** Unreadable elements, each described by a text that identifies it. */
  readonly unreadable = new Set<string>();
  pageSize: number;
  /** Number of messages on the longest page of this read, whatever its limit. */
  longestPage = 0;
  /**
   * Upstream's time at the first page, in milliseconds since 1970; undefined if upstream did not send a `Date`.
   */
  date: number | undefined;
  /** Number of unreadable elements since the last call of {@link beginPass}. */
  skipped = 0;
  /** True if the last request asked for more than the documented page size. */
  askedForLargePage = false;
  /** Number of requests. */
  requests = 0;
  /**
   * True if a message appeared on two pages, for another reason than new messages at the beginning of the list.
   * Growth moves messages from the end of one page to the beginning of the next, which hides no message.
   */
  servedTwice = false;
  /** Ids on the pages that were read since the last start at the first page. */
  private served = new Set<string>();
  /** Ids of the last page that contained a message. */
  private previousIds: readonly string[] = [];
  /** Value of {@link previousIds} before the last page. */
  private idsBefore: readonly string[] = [];
  /** Ids that the last page added to {@link served}. */
  private lastServed: readonly string[] = [];
  private lastSkipped = 0;
  /** Number of messages on the longest page that was requested with the large limit. */
  private largestPage = 0;
  private readonly read: ReadPage;
  private readonly readPlain: ReadPage;

  constructor(
    read: ReadPage,
    private readonly known: KnownIds,
    { pageSize }: PageSizes,
    isMessageFault?: IsMessageFault,
  ) {
    this.pageSize = Math.max(pageSize, MIN_PAGE_SIZE);
    const counted: ReadPage = (page, limit) => {
      this.askedForLargePage = limit > PAGE_LIMIT;
      this.requests += 1;
      return read(page, limit);
    };
    const sizeOf = (limit: number): number =>
      limit > PAGE_LIMIT ? this.largestPage || limit : Math.min(limit, this.pageSize);
    this.readPlain = readPageInParts(counted, sizeOf);
    this.read = readPageInParts(counted, sizeOf, isMessageFault);
  }

  /**
   * Starts again at the first page. A message counts as repeated only if an earlier page since this start
   * contained it.
   */
  beginPass(): void {
    this.served = new Set();
    this.previousIds = [];
    this.servedTwice = false;
    this.skipped = 0;
    this.lastSkipped = 0;
  }

  /** Forgets committed messages, but keeps their ids. */
  release(): void {
    this.seen.clear();
    this.unreadable.clear();
  }

  /** Undoes the effect of the last page, so that reading the page again does not count as a repetition. */
  undoLastPage(): void {
    for (const id of this.lastServed) this.served.delete(id);
    this.lastServed = [];
    this.previousIds = this.idsBefore;
    this.skipped -= this.lastSkipped;
    this.lastSkipped = 0;
  }

  /** Number of different messages on the pages that were read since the last start at the first page. */
  get servedCount(): number {
    return this.served.size;
  }

  async take(page: number, limit = PAGE_LIMIT): Promise<PageRead> {
    return this.record(await this.read(page, limit), limit);
  }

  /**
   * Reads a page like {@link take}. Reads in parts only a page that is too large, not one that fails otherwise.
   */
  async takeWhole(page: number, limit: number): Promise<PageRead> {
    return this.record(await this.readPlain(page, limit), limit);
  }

  /** Returns a page of one unreadable element, in place of a message that upstream fails to show. */
  skippedMessage(): PageRead {
    this.skipped += 1;
    this.lastSkipped = 1;
    this.idsBefore = this.previousIds;
    this.unreadable.add(FAILING_MESSAGE_PLACEHOLDER);
    this.lastServed = [];
    const nothing = { items: [], ids: [], newIds: [], added: new Set<string>(), full: false };
    return { ...nothing, limit: 1, count: 1, lastIsNew: false, firstIsNew: false, repeats: false };
  }

  /** Combines the parts of a page into one page. */
  joined(parts: readonly PageRead[], limit: number): PageRead {
    const count = parts.reduce((sum, part) => sum + part.count, 0);
    return {
      items: parts.flatMap(({ items }) => items),
      ids: parts.flatMap(({ ids }) => ids),
      newIds: parts.flatMap(({ newIds }) => newIds),
      added: new Set(parts.flatMap(({ added }) => [...added])),
      ...{ limit, count, full: count >= limit },
      lastIsNew: parts.at(-1)?.lastIsNew === true,
      firstIsNew: parts[0]?.firstIsNew === true,
      repeats: parts.every(({ repeats }) => repeats),
    };
  }

  private async record(read: MessagePage, limit: number): Promise<PageRead> {
    const { items, skipped, unreadable = [], date } = read;
    this.date ??= date;
    this.skipped += skipped;
    this.lastSkipped = skipped;
    for (const element of unreadable) this.unreadable.add(element);
    const count = items.length + skipped;
    // Unreadable elements do not count: a page size that is too high would make every page look like the last
    // one.
    this.longestPage = Math.max(this.longestPage, items.length);
    if (limit > PAGE_LIMIT) this.largestPage = Math.max(this.largestPage, items.length);
    // A page above the documented size shows that a page of the documented size can be full.
    const onSmall = limit > PAGE_LIMIT ? Math.min(items.length, PAGE_LIMIT) : items.length;
    this.pageSize = Math.max(this.pageSize, onSmall);
    const full = count >= (limit > PAGE_LIMIT ? this.largestPage : Math.min(this.pageSize, limit));
    const ids = items.map(({ id }) => id);
    const repeats = ids.every((id) => this.served.has(id));
    const unseen = ids.filter((id) => !this.ids.has(id));
    const known = unseen.length === 0 ? new Set<string>() : await this.known(unseen);
    const newIds = unseen.filter((id) => !known.has(id));
    for (const id of newIds) this.newIds.add(id);
    const added = new Set(ids.filter((id) => !this.served.has(id)));
    this.lastServed = [...added];
    const repeated = ids.length - added.size;
    this.servedTwice ||= repeated > 0 && !this.isShiftedDown(ids, repeated);
    this.idsBefore = this.previousIds;
    if (ids.length > 0) this.previousIds = ids;
    for (const message of items) {
      this.served.add(message.id);
      this.ids.add(message.id);
      this.seen.set(message.id, message);
    }
    const last = ids.at(-1);
    const lastIsNew = last !== undefined && this.newIds.has(last);
    const firstIsNew = ids[0] !== undefined && this.newIds.has(ids[0]);
    return { items, ids, limit, count, full, newIds, added, lastIsNew, firstIsNew, repeats };
  }

  /** Returns true if the page begins with the end of the previous page. */
  private isShiftedDown(ids: readonly string[], repeated: number): boolean {
    const end = this.previousIds.slice(-repeated);
    return end.length === repeated && end.every((id, i) => id === ids[i]);
  }

  /**
   * Returns true if the list continues after an empty page: an empty page right after a full one may be a gap.
   */
  async continuesAfter(last: PageRead, empty: number): Promise<boolean> {
    if (!last.full) return false;
    const { items, skipped } = await this.read(empty + 1, last.limit);
    return items.length + skipped > 0;
  }
}

/** Returns true if upstream may have failed because the requested page was too large. */
export function mayBeCausedBySize(error: unknown): boolean {
  if (error instanceof UpstreamStatusError) return ![401, 403, 404, 429].includes(error.status);
  return error instanceof UpstreamError && !(error instanceof UpstreamUnreachableError);
}

/**
 * Returns true if upstream answered with an error or an invalid body: a message on the page may be the cause.
 */
export function mayBeCausedByMessage(error: unknown): boolean {
  return (
    (error instanceof UpstreamStatusError || error instanceof UpstreamReplyError) && mayBeCausedBySize(error)
  );
}
