import type { UpstreamMessage } from '#upstream';
import { messageOrderOf, type PageOrder } from './page-order.js';
import {
  type KnownIds,
  LARGE_PAGE_LIMIT,
  mayBeCausedByMessage,
  mayBeCausedBySize,
  PAGE_LIMIT,
  type PageRead,
  PageReader,
} from './page-reader.js';
import type { ReadPage } from './read-in-parts.js';
import { lastPageOf } from './page-tail.js';

/**
 * Maximum number of pages that one read of the newest messages requests. A later read of older messages covers
 * the others. Keeps a faulty upstream from blocking a poll.
 */
const MAX_PAGES = 50;
/**
 * Maximum number of times that pages are read again because a new message appeared on them during the read.
 */
const MAX_REPEATS = 5;
/** Number of consecutive pages without a readable message after which a read stops. */
export const MAX_UNREADABLE_PAGES = 5;

/** Functions that read upstream's pages and look up known ids. */
export interface WalkSource {
  read: ReadPage;
  /** Filters ids: returns the ids that were known before this read. */
  known: KnownIds;
}

/** What is known about a contact's pages before a read of the newest messages. */
export interface HeadPlan {
  order: PageOrder;
  /** Number of known messages. */
  known: number;
  /**
   * Number of messages at the last complete read; with oldest first, at the last read of the newest messages.
   */
  length: number;
  /** Number of messages on the contact's longest page: a shorter page is the last one. */
  pageSize: number;
  /** Number of messages on the longest page of any contact of the account. */
  longestPage: number;
  /** Page limit above 20 that upstream honours, or 20 if upstream honours none; absent while unknown. */
  limit?: number;
  /** Reduced limit of the first page, present while a full first page cannot be read. */
  headLimit?: number;
  /** Reduced limit with which the first page could be read some time ago, when a full first page could not. */
  lastHeadLimit?: number;
  /** True before the first complete read of the contact. A read of the other pages then follows. */
  isFirst: boolean;
  /** Number of consecutive failed reads of the newest messages before this read. */
  failures: number;
}

/** Result of a read of the newest messages. */
export interface HeadRead {
  /** Messages that the read returned, in upstream's order. Each message occurs once, in its latest form. */
  served: UpstreamMessage[];
  /** Ids of the messages on the pages where new messages appear, in upstream's order. */
  shown: readonly string[];
  /** Ids at the end of the list where the next new messages will appear, in upstream's order. */
  head: readonly string[];
  order: PageOrder;
  length: number;
  pageSize: number;
  /** Number of messages on the longest page of this read. */
  longestPage: number;
  /** True if the first page, as read last, was not full: the list ends on it. */
  showsEnd: boolean;
  limit?: number;
  headLimit?: number;
  /** True if the read covered all new messages at the head; otherwise a read of all pages is needed. */
  coversAllNew: boolean;
  /** True if the read reached the end of the list without a known message. */
  metNoKnownMessage: boolean;
  skipped: number;
  unreadable: readonly string[];
  /**
   * Upstream's time at the first page, in milliseconds since 1970; absent if upstream did not send a `Date`.
   */
  date?: number;
}

/**
 * Reads the new messages of a contact.
 *
 * - Newest first: from page 1 to the first page that contains a known message.
 * - Oldest first: from the former last page to the end.
 * - Other orders: page 1, which is enough only if it contains all former messages and is not full.
 *
 * Costs one request, unless a whole page is new. Messages may shift between two requests, so a read of several
 * pages reads all but the last again, until they contain nothing new.
 */
export async function readNewestMessages(source: WalkSource, plan: HeadPlan): Promise<HeadRead> {
  const walk = new HeadWalk(source, plan);
  await walk.run();
  return walk.result();
}

class HeadWalk {
  private readonly pages: PageReader;
  private order: PageOrder;
  private length: number;
  private limit: number | undefined;
  private headLimit: number | undefined;
  private shown: readonly string[] = [];
  private head: readonly string[] = [];
  private coversAllNew = true;
  private metNoKnownMessage = false;
  private showsEnd = false;

  constructor(
    source: WalkSource,
    private readonly plan: HeadPlan,
  ) {
    // If a full first page fails, a single message may be the cause: it is found and skipped.
    const isMessageFault = (error: unknown): boolean =>
      this.headLimit !== undefined && mayBeCausedByMessage(error);
    this.pages = new PageReader(source.read, source.known, plan, isMessageFault);
    this.order = plan.order;
    this.length = plan.length;
    // A limit that upstream honours for one contact is assumed for the others.
    this.limit = plan.limit ?? (plan.longestPage > PAGE_LIMIT ? LARGE_PAGE_LIMIT : undefined);
    this.headLimit = plan.headLimit;
  }

  async run(): Promise<void> {
    if (this.order === 'oldestFirst') await this.readTail();
    else if (this.order === 'newestFirst') await this.readTop();
    else await this.readFirst();
  }

  private async take(page: number, limit: number): Promise<PageRead> {
    return this.withOrderChecked(await this.pages.take(page, limit));
  }

  /** Returns the page. Switches to `unsorted` if the page contradicts the assumed order. */
  private withOrderChecked(read: PageRead): PageRead {
    if (contradictsOrder(this.order, read.items)) {
      this.order = 'unsorted';
      this.coversAllNew = false;
    }
    return read;
  }

  result(): HeadRead {
    const { order, shown, head, length, limit, headLimit, coversAllNew, metNoKnownMessage, pages } = this;
    return {
      served: [...pages.seen.values()],
      ...{ shown, head, order, length, coversAllNew, metNoKnownMessage },
      ...{ pageSize: pages.pageSize, longestPage: pages.longestPage, showsEnd: this.showsEnd },
      skipped: pages.skipped,
      unreadable: [...pages.unreadable],
      ...(limit === undefined ? {} : { limit }),
      ...(headLimit === undefined ? {} : { headLimit }),
      ...(pages.date === undefined ? {} : { date: pages.date }),
    };
  }

  /**
   * Reads page 1 of a list in unknown order. For a short list this is enough; for a longer one, a read of all
   * pages follows.
   */
  private async readFirst(): Promise<void> {
    const large = this.limit === LARGE_PAGE_LIMIT && this.headLimit === undefined;
    const first = large ? await this.takeLarge() : await this.takeFirst();
    this.setHeadFromTop(first);
    const showsAll = this.showsAll(first);
    const seen = messageOrderOf(first.items);
    // An empty list or a single message left the order unknown; this page can show the order.
    const showsOrder = this.order === 'unknown' && (!this.plan.isFirst || this.plan.known === 0);
    if (showsOrder && seen === 'newestFirst') {
      this.order = seen;
      if (!this.plan.isFirst && this.mayMoreBeNew(first) && !showsAll) await this.readFurtherPages(first);
      return;
    }
    if (showsAll) this.settleWithoutOrder(first);
    else if (showsOrder && seen === 'oldestFirst' && !this.plan.isFirst) await this.readSecond(first);
    else this.coversAllNew = false;
  }

  private showsAll(first: PageRead): boolean {
    return this.showsEnd && first.ids.length >= this.length;
  }

  /** Decides, for a list without order, whether page 1 contains the whole list. */
  private settleWithoutOrder(first: PageRead): void {
    this.coversAllNew = this.showsAll(first);
    if (this.coversAllNew) this.length = first.ids.length;
  }

  /**
   * Reads page 2 of an oldest-first list. The list is complete if page 2 is empty and page 1 still the same.
   */
  private async readSecond(first: PageRead): Promise<void> {
    let top = first;
    for (let looks = 0; looks < MAX_REPEATS && top.count < PAGE_LIMIT; looks += 1) {
      const second = await this.take(2, top.limit);
      if (second.count > 0) break;
      top = await this.take(1, top.limit);
      if (top.newIds.length > 0) continue;
      this.order = 'oldestFirst';
      this.setHeadFromTail(0, 0, [top]);
      return;
    }
    this.coversAllNew = false;
  }

  private async takeLarge(): Promise<PageRead> {
    try {
      return await this.take(1, LARGE_PAGE_LIMIT);
    } catch (error) {
      // Upstream may have stopped honouring the large limit.
      if (!mayBeCausedBySize(error)) throw error;
      this.limit = PAGE_LIMIT;
      return this.takeFirst();
    }
  }

  /** Reads page 1, or a smaller first page if one message makes the full page fail. */
  private async takeFirst(): Promise<PageRead> {
    const limit = this.headLimit ?? PAGE_LIMIT;
    const { lastHeadLimit, failures } = this.plan;
    const halves = failures === 0 ? [limit >> 1] : [limit >> 1, limit >> 2, limit >> 3, 1];
    const parts = lastHeadLimit === undefined ? halves : [lastHeadLimit, ...halves];
    let failure: unknown;
    for (const part of [limit, ...new Set(parts)]) {
      if (part < 1) continue;
      try {
        const read = await this.pages.takeWhole(1, part);
        if (part < limit) this.headLimit = part;
        return this.withOrderChecked(read);
      } catch (error) {
        if (!mayBeCausedByMessage(error)) throw error;
        failure ??= error;
      }
    }
    throw failure;
  }

  private async readTop(): Promise<void> {
    const first = await this.takeFirst();
    this.setHeadFromTop(first);
    if (this.order === 'unsorted') {
      this.settleWithoutOrder(first);
      return;
    }
    if (!this.mayMoreBeNew(first)) return;
    const isShort = first.count < this.pages.pageSize && this.headLimit === undefined;
    if (this.plan.known === 0 && isShort) return;
    await this.readFurtherPages(first);
  }

  private setHeadFromTop(first: PageRead): void {
    this.head = first.ids.slice(0, PAGE_LIMIT);
    this.shown = first.ids;
    const { pageSize } = this.pages;
    // A page shorter than other contacts' pages is not full, unless upstream caps the pages of this contact.
    const isCapped = this.length > pageSize;
    const longest = isCapped ? pageSize : Math.max(pageSize, Math.min(this.plan.longestPage, PAGE_LIMIT));
    const maxCount = first.limit > PAGE_LIMIT ? first.limit : longest;
    this.showsEnd = first.count === 0 || (first.count < maxCount && this.headLimit === undefined);
  }

  /**
   * Returns true if more new messages may follow on the next page. The last message of the page decides:
   * messages that arrive at the same time may shift, so a known message in the middle does not mean that the
   * rest is known.
   */
  private mayMoreBeNew({ lastIsNew, ids, count }: PageRead): boolean {
    return lastIsNew || (ids.length === 0 && count > 0);
  }

  /** Reads on after a page 1 that ends in a new message, up to a known message or the end of the list. */
  private async readFurtherPages(first: PageRead): Promise<void> {
    const top = await this.enlarged(first);
    let last = top;
    let pages = 1;
    let unreadable = top.ids.length === 0 ? 1 : 0;
    let ended = false;
    let endRepeats = false;
    while (this.mayMoreBeNew(last) && !ended) {
      if (pages >= MAX_PAGES || unreadable >= MAX_UNREADABLE_PAGES) {
        this.coversAllNew = false;
        break;
      }
      pages += 1;
      const next = await this.take(pages, top.limit);
      if (next.count === 0) {
        if (await this.pages.continuesAfter(last, pages)) continue;
        ended = true;
      } else if (next.repeats && next.ids.length > 0) {
        ended = true;
        endRepeats = true;
      }
      unreadable = next.ids.length === 0 ? unreadable + 1 : 0;
      if (!ended) last = next;
    }
    const hasGrown = pages > 1 && (await this.repeatFirstPages(pages - 1, top.limit));
    // Upstream may repeat the last page of a list forever. But a page also repeats the one before it if the list grew by
    // a whole page between the two requests: then it is not the end, and further new messages may follow.
    if (endRepeats && hasGrown) this.coversAllNew = false;
    this.metNoKnownMessage = ended && !(endRepeats && hasGrown);
  }

  /** Reads page 1 again with the large limit, unless upstream is known not to honour that limit. */
  private async enlarged(first: PageRead): Promise<PageRead> {
    if (this.limit === PAGE_LIMIT || this.headLimit !== undefined || first.count < PAGE_LIMIT) return first;
    try {
      const larger = await this.take(1, LARGE_PAGE_LIMIT);
      this.limit = larger.count > PAGE_LIMIT ? LARGE_PAGE_LIMIT : PAGE_LIMIT;
      this.setHeadFromTop(larger);
      return { ...larger, limit: this.limit };
    } catch (error) {
      if (!mayBeCausedBySize(error)) throw error;
      this.limit = PAGE_LIMIT;
      return first;
    }
  }

  /**
   * Reads the first pages again while new messages turn up there: a message may have shifted between two
   * requests. Returns true if new messages turned up.
   */
  private async repeatFirstPages(count: number, limit: number): Promise<boolean> {
    for (let looks = 0; looks < MAX_REPEATS; looks += 1) {
      let foundNew = false;
      for (let page = 1; page <= count; page += 1) {
        const read = await this.take(page, limit);
        if (page === 1) this.setHeadFromTop(read);
        foundNew ||= read.newIds.length > 0;
      }
      if (!foundNew) return looks > 0;
    }
    this.coversAllNew = false;
    return true;
  }

  /** Reads an oldest-first list from its former last page to the end. */
  private async readTail(): Promise<void> {
    for (let looks = 0; looks < MAX_REPEATS; looks += 1) {
      const { pages, foundNew } = await this.readTailOnce();
      if (pages === 1 || !foundNew) return;
    }
    this.coversAllNew = false;
  }

  private async readTailOnce(): Promise<{ pages: number; foundNew: boolean }> {
    const before = this.pages.requests;
    const { page, limit } = lastPageOf(this.length, this.pages.pageSize);
    const start = (page - 1) * limit;
    let first = page;
    let reads = [await this.take(page, limit)];
    // The list became shorter, or earlier messages moved onto this page: read earlier pages, back to a page whose
    // first message is known.
    while (first > 1 && page - first < MAX_PAGES) {
      const isEmpty = reads[0]?.count === 0;
      if (!isEmpty && reads[0]?.firstIsNew !== true) break;
      first -= 1;
      const read = await this.take(first, limit);
      reads = isEmpty ? [read] : [read, ...reads];
    }
    await this.readToEnd(reads, first + reads.length - 1);
    this.setHeadFromTail(start, (first - 1) * limit, reads);
    return { pages: this.pages.requests - before, foundNew: reads.some((read) => read.newIds.length > 0) };
  }

  /** Reads on from the last page while pages are full. */
  private async readToEnd(reads: PageRead[], from: number): Promise<void> {
    let last = reads.at(-1);
    for (let page = from + 1; last !== undefined && last.count >= last.limit; page += 1) {
      if (page - from > MAX_PAGES) {
        this.coversAllNew = false;
        return;
      }
      const next = await this.take(page, last.limit);
      if (next.count === 0) {
        if (!(await this.pages.continuesAfter(last, page))) return;
        continue;
      }
      if (next.repeats) return;
      reads.push(next);
      last = next;
    }
  }

  /** Sets the head and the length of an oldest-first list that was read from the offset `from` to its end. */
  private setHeadFromTail(planned: number, from: number, reads: readonly PageRead[]): void {
    const ids = reads.flatMap((read) => read.ids);
    this.shown = ids.slice(Math.max(planned - from, 0));
    this.length = from + reads.reduce((sum, read) => sum + read.count, 0);
    const { page, limit } = lastPageOf(this.length, this.pages.pageSize);
    const start = (page - 1) * limit - from;
    // If messages before this page were not read, the next read of the newest messages has nothing to compare
    // with.
    this.head = start < 0 ? [] : ids.slice(start);
  }
}

/** Returns true if the messages are in another order than assumed. */
export function contradictsOrder(assumed: PageOrder, messages: readonly UpstreamMessage[]): boolean {
  const seen = messageOrderOf(messages);
  return assumed !== 'unknown' && assumed !== 'unsorted' && seen !== 'unknown' && seen !== assumed;
}
