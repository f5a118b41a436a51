import type { UpstreamMessage } from '#upstream';
import { compareWithAssumedOrder, maxPlaces, messageOrderOf } from './message-order-detector.js';
import type { PageOrder } from './page-order.js';
import {
  type KnownIds,
  LARGE_PAGE_LIMIT,
  mayBeCausedBySingleMessage,
  mayBeCausedByPageSize,
  DOCUMENTED_MAX_MESSAGES_PER_PAGE,
  type PageRead,
  PageReader,
  type ReplyTime,
} from './page-reader.js';
import type { ReadPage } from './read-in-parts.js';
import { type PageRequest, requestForLastPage } from './page-tail.js';

/**
 * A read of the newest messages begins with one page, and may go on to later or to earlier pages. `MAX_PAGES` bounds
 * the number of pages in each direction, so that a faulty upstream cannot block a poll. The remaining pages are read
 * by a later read of older messages.
 */
const MAX_PAGES = 50;
/** Max number of times that pages are read again because new messages appeared on them during the read. */
const MAX_REPEATS = 5;
/**
 * While a read looks for known messages, a page that cannot be read makes the read fail. After this number of
 * consecutive failed reads, about a minute, the read goes on without a conclusion. Earlier reads may have failed for
 * other reasons, and without a conclusion, replaced messages are emitted as new ones. But the messages that were read are
 * not emitted before.
 */
const FAILED_READS_UNTIL_NO_CONCLUSION = 6;
/** A read stops after this number of consecutive pages without a readable message. */
export const MAX_CONSECUTIVE_UNREADABLE_PAGES = 5;

/**
 * Functions with which a read of the newest messages requests pages from upstream and looks up which ids are
 * known.
 */
export interface WalkSource {
  read: ReadPage;
  /** Returns those of the given message ids that were known before this read. */
  known: KnownIds;
}

/** What earlier reads found out about a contact's list of messages, to plan a read of the newest messages. */
export interface HeadPlan {
  order: PageOrder;
  /** True if earlier reads found that some messages of a sorted list are not where their timestamps put them. */
  hasMisplacedMessages: boolean;
  /** Number of messages of the contact that are known before this read. */
  known: number;
  /** True if so many messages are known that a list without any of them means that upstream has replaced them all. */
  knowsMany: boolean;
  /**
   * Number of messages in the contact's list at the last read of all pages. If the list is oldest first, the
   * number at the last read of the newest messages.
   */
  length: number;
  /**
   * Number of messages on the longest page of this contact so far. A page with fewer messages is the last
   * one.
   */
  pageSize: number;
  /** Number of messages on the longest page of any contact of the account so far. */
  longestPage: number;
  /**
   * Largest page limit that upstream is known to honour; 20 if upstream honours no larger limit. Absent while
   * unknown.
   */
  limit?: number;
  /** Reduced limit of the first page, present while a full first page cannot be read. */
  headLimit?: number;
  /**
   * Reduced limit with which an earlier read of page 1 succeeded. It is used again if page 1 cannot be read with the
   * full limit.
   */
  lastHeadLimit?: number;
  /** True until all pages of the contact have been read once. While true, a read of all pages follows this read. */
  isFirst: boolean;
  /** Number of consecutive failed reads of the newest messages before this read. */
  failures: number;
  /** True if an earlier read found a message that upstream fails to return. */
  hasPermanentlyUnreadableMessage: boolean;
  /** True if upstream is known to ignore the limit: its pages then have `pageSize` messages. */
  ignoresLimit: boolean;
}

/** Result of a read of the newest messages. */
export interface HeadRead {
  /**
   * Messages that were read, each once and in its latest form, in the order in which they were first read.
   */
  served: UpstreamMessage[];
  /**
   * Ids of the messages that are compared with the previous head, in the order in which upstream lists them.
   * These are the messages on page 1. In an oldest-first list, they are all messages from the start of the
   * previous head to the end of the list.
   */
  shown: readonly string[];
  /** Ids of the messages in the new head, in the order in which upstream lists them. */
  head: readonly string[];
  order: PageOrder;
  /** True if the list is sorted, but this or an earlier read found messages that are not where their timestamps put them. */
  hasMisplacedMessages: boolean;
  length: number;
  pageSize: number;
  /** Number of messages on the longest page that upstream returned to this read. */
  longestPage: number;
  /** True if this read has shown that the list ends on page 1. */
  showsEnd: boolean;
  limit?: number;
  headLimit?: number;
  /**
   * True if upstream returned more messages on a page at the end of the list than were requested, in this read or an
   * earlier one.
   */
  ignoresLimit: boolean;
  /** True if this read found all new messages. If false, a read of all pages is needed. */
  coversAllNew: boolean;
  /**
   * True if the list was read to its end, and, if it is newest first, no page ended in a known message. If it is in
   * another order, no page contained one.
   */
  metNoKnownMessage: boolean;
  skipped: number;
  unreadable: readonly string[];
  /**
   * Limit and digest of the first page. Present if no other page was read, and the first page contains no unreadable
   * element.
   */
  onlyPage?: { limit: number; digest: string };
  /** Time of upstream's first reply. Absent if upstream did not send a `Date` header. */
  firstReply?: ReplyTime;
}

/**
 * Reads the new messages of a contact. Which pages are read depends on the order of the list:
 *
 * - Newest first: from page 1 on, until a page ends in a known message or the list ends.
 * - Oldest first: from the page that was the last one at the previous read to the end of the list.
 * - Other orders: page 1. This is enough only if the page contains the whole list.
 *
 * If none of these messages is known although many messages of the contact are, reads on until a known message is met
 * or the list ends, because upstream may have replaced all messages of the contact.
 *
 * A message is new if the snapshot does not contain it. Costs one request in most cases. Several pages are
 * read only if more new messages may follow the first page. Messages may move from one page to another
 * between two requests, so all of these pages except the last are read again, until a repetition finds no
 * further new message.
 */
export async function readNewestMessages(source: WalkSource, plan: HeadPlan): Promise<HeadRead> {
  const walk = new HeadWalk(source, plan);
  await walk.run();
  return walk.result();
}

/**
 * Returns the largest page limit that upstream is expected to honour for the contact. If the contact's own limit is
 * unknown, returns {@link LARGE_PAGE_LIMIT} if upstream honoured it for another contact, and undefined otherwise.
 */
function knownLimitOf({ limit, longestPage }: HeadPlan): number | undefined {
  return limit ?? (longestPage > DOCUMENTED_MAX_MESSAGES_PER_PAGE ? LARGE_PAGE_LIMIT : undefined);
}

/**
 * Returns the limit of the first request of a read of the newest messages. The result does not apply to an
 * oldest-first list, because a read of that list does not begin with page 1.
 */
export function firstPageLimitOf(plan: HeadPlan): number {
  if (plan.headLimit !== undefined) return plan.headLimit;
  const isLarge = plan.order !== 'newestFirst' && knownLimitOf(plan) === LARGE_PAGE_LIMIT;
  return isLarge ? LARGE_PAGE_LIMIT : DOCUMENTED_MAX_MESSAGES_PER_PAGE;
}

class HeadWalk {
  private readonly pages: PageReader;
  private order: PageOrder;
  private hasMisplacedMessages: boolean;
  private length: number;
  private limit: number | undefined;
  private headLimit: number | undefined;
  private ignoresLimit: boolean;
  private shown: readonly string[] = [];
  private head: readonly string[] = [];
  private coversAllNew = true;
  private metNoKnownMessage = false;
  private showsEnd = false;

  constructor(
    source: WalkSource,
    private readonly plan: HeadPlan,
  ) {
    // If page 1 had to be read with a reduced limit, or earlier reads failed too, a single message probably makes pages
    // fail. Another page that fails, perhaps because of a single message, is then read in parts. Otherwise, the error of
    // that page is thrown.
    const isMessageFault = (error: unknown): boolean =>
      (this.headLimit !== undefined || this.isMessageSuspected()) && mayBeCausedBySingleMessage(error);
    this.pages = new PageReader(source.read, source.known, plan, isMessageFault);
    this.order = plan.order;
    this.hasMisplacedMessages = plan.hasMisplacedMessages;
    this.length = plan.length;
    this.limit = knownLimitOf(plan);
    this.headLimit = plan.headLimit;
    this.ignoresLimit = plan.ignoresLimit;
  }

  async run(): Promise<void> {
    if (this.order === 'oldestFirst') await this.readTail();
    else if (this.order === 'newestFirst') await this.readTop();
    else await this.readFirst();
    if (this.mayBeReplaced()) await this.lookForKnownMessage();
  }

  /**
   * Returns true if no message that was read is known, although many messages of the contact are. A newest-first list
   * has then been read on already; see {@link readFurtherPages}.
   */
  private mayBeReplaced(): boolean {
    const { knowsMany, isFirst } = this.plan;
    const { seen, knownCount } = this.pages;
    return knowsMany && !isFirst && this.order !== 'newestFirst' && seen.size > 0 && knownCount === 0;
  }

  /**
   * Reads the list from page 1 until a page contains a known message or the list ends. Sets {@link metNoKnownMessage}
   * if the list ends first.
   */
  private async lookForKnownMessage(): Promise<void> {
    this.pages.beginPass();
    try {
      let last: PageRead | undefined;
      let unreadable = 0;
      for (let page = 1; page <= MAX_PAGES && unreadable < MAX_CONSECUTIVE_UNREADABLE_PAGES; page += 1) {
        const read = await this.take(page, this.limit ?? DOCUMENTED_MAX_MESSAGES_PER_PAGE);
        if (this.pages.knownCount > 0) return;
        unreadable = read.ids.length === 0 ? unreadable + 1 : 0;
        if (read.count > 0 && (!read.repeats || read.ids.length === 0)) last = read;
        else if (read.count > 0 || last === undefined || !(await this.pages.continuesAfter(last, page))) {
          this.metNoKnownMessage = true;
          return;
        }
      }
    } catch (error) {
      if (!mayBeCausedByPageSize(error)) throw error;
      // Upstream may fail to return a page that is as large as those of another contact.
      if (this.limit !== undefined && this.limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE) {
        this.limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
        return this.lookForKnownMessage();
      }
      // A page that upstream always fails to return must not stop the polls. After other errors, a later poll looks
      // again.
      const isMessageFault = this.isMessageSuspected() && mayBeCausedBySingleMessage(error);
      if (!isMessageFault && this.plan.failures < FAILED_READS_UNTIL_NO_CONCLUSION) throw error;
    }
  }

  private async take(page: number, limit: number): Promise<PageRead> {
    return this.withOrderChecked(await this.pages.take(page, limit));
  }

  /**
   * Returns the page unchanged. If its messages contradict the assumed order of the list, sets the order to
   * `unsorted`.
   */
  private withOrderChecked(read: PageRead): PageRead {
    const comparison = compareWithAssumedOrder(this.order, read.items, this.pages.pageSize);
    if (comparison === 'misplaced') this.hasMisplacedMessages = true;
    if (comparison === 'contradict') {
      this.order = 'unsorted';
      this.coversAllNew = false;
    }
    return read;
  }

  result(): HeadRead {
    const { order, shown, head, length, limit, headLimit, ignoresLimit, pages } = this;
    const { coversAllNew, metNoKnownMessage } = this;
    const hasMisplacedMessages = this.hasMisplacedMessages && order !== 'unsorted';
    return {
      served: [...pages.seen.values()],
      ...{ shown, head, order, hasMisplacedMessages, length, ignoresLimit, coversAllNew, metNoKnownMessage },
      ...{ pageSize: pages.pageSize, longestPage: pages.longestPage, showsEnd: this.showsEnd },
      skipped: pages.skipped,
      unreadable: [...pages.unreadable],
      ...(limit === undefined ? {} : { limit }),
      ...(headLimit === undefined ? {} : { headLimit }),
      ...(pages.firstReply === undefined ? {} : { firstReply: pages.firstReply }),
      ...(pages.onlyPage === undefined ? {} : { onlyPage: pages.onlyPage }),
    };
  }

  /**
   * Reads page 1 of a list whose order is not known. This is enough for a list with one page. For a longer
   * list, a read of all pages usually follows.
   */
  private async readFirst(): Promise<void> {
    const large = firstPageLimitOf(this.plan) === LARGE_PAGE_LIMIT;
    const first = large ? await this.takeLarge() : await this.takeFirst();
    this.setHeadFromTop(first);
    await this.checkEndOfLargePage(first);
    const showsAll = this.showsAll(first);
    const seen = messageOrderOf(first.items, this.pages.pageSize);
    const showsOrder = this.order === 'unknown' && (!this.plan.isFirst || this.plan.known === 0);
    if (showsOrder && seen.order === 'newestFirst') {
      this.order = seen.order;
      this.hasMisplacedMessages ||= seen.hasMisplacedMessages;
      // If the whole list seems to be new although many messages are known, page 2 shows whether they were replaced.
      const needsFurtherPages = this.mayMoreBeNew(first) && (!showsAll || this.plan.knowsMany);
      if (!this.plan.isFirst && needsFurtherPages) await this.readFurtherPages(first);
      return;
    }
    if (showsAll) this.settleWithoutOrder(first);
    else if (showsOrder && seen.order === 'oldestFirst' && !this.plan.isFirst) {
      this.hasMisplacedMessages ||= seen.hasMisplacedMessages;
      await this.readSecond(first);
    } else this.coversAllNew = false;
  }

  /**
   * Reads page 2 if page 1 has more messages than the documented maximum, but fewer than requested. Page 2 shows
   * whether the list ends with page 1, or whether upstream never returns more messages per page than page 1 has.
   */
  private async checkEndOfLargePage(first: PageRead): Promise<void> {
    const { count, limit } = first;
    if (this.showsEnd || count <= DOCUMENTED_MAX_MESSAGES_PER_PAGE || count >= limit) return;
    try {
      const second = await this.take(2, limit);
      this.showsEnd = second.count === 0 || (second.repeats && second.ids.length > 0);
    } catch (error) {
      // A message on page 2 that upstream fails to return must not stop the polls. A read of all pages skips it.
      if (!mayBeCausedByPageSize(error)) throw error;
    }
  }

  private showsAll(first: PageRead): boolean {
    return this.showsEnd && first.ids.length >= this.length;
  }

  /**
   * Sets {@link coversAllNew} after a read of page 1 of a list whose order is not known: true only if page 1 contains
   * all messages of the list.
   */
  private settleWithoutOrder(first: PageRead): void {
    this.coversAllNew = this.showsAll(first);
    if (this.coversAllNew) this.length = first.ids.length;
  }

  /**
   * Finds out whether page 1 of a list that seems to be oldest first is the whole list. Reads page 2 and then
   * page 1 again. If page 2 is empty and page 1 contains no further new message, page 1 is the whole list.
   */
  private async readSecond(first: PageRead): Promise<void> {
    let top = first;
    for (let looks = 0; looks < MAX_REPEATS && top.count < DOCUMENTED_MAX_MESSAGES_PER_PAGE; looks += 1) {
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
      // Upstream may no longer accept `LARGE_PAGE_LIMIT`, so page 1 is requested with the documented limit.
      if (!mayBeCausedByPageSize(error)) throw error;
      this.limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
      return this.takeFirst();
    }
  }

  /**
   * Reads page 1. If upstream fails to return the full page, perhaps because of one message, reads a smaller
   * first page.
   */
  private async takeFirst(): Promise<PageRead> {
    const limit = this.headLimit ?? DOCUMENTED_MAX_MESSAGES_PER_PAGE;
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
        if (!mayBeCausedBySingleMessage(error)) throw error;
        failure ??= error;
        if (part === 1 && this.isMessageSuspected()) return this.takeAfterFirstMessage(failure);
      }
    }
    throw failure;
  }

  /**
   * Returns true if earlier reads suggest that one message makes the page fail each time. After only one
   * failed read, the cause may be something else.
   */
  private isMessageSuspected(): boolean {
    return this.plan.failures > 0 || this.plan.hasPermanentlyUnreadableMessage;
  }

  /** Reads page 1 without its first message, because upstream fails to return that message even on its own. */
  private async takeAfterFirstMessage(failure: unknown): Promise<PageRead> {
    const limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
    // If the list has more messages than the longest page so far, the length of that page is the maximum page
    // length of upstream.
    const isCapped = this.length > this.pages.pageSize;
    const size = isCapped ? Math.min(limit, this.pages.pageSize) : limit;
    const read = await this.pages.takeParts({ page: 1, limit }, size, failure, true);
    this.headLimit = 1;
    return this.withOrderChecked(read);
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
    this.head = first.ids.slice(0, DOCUMENTED_MAX_MESSAGES_PER_PAGE);
    this.shown = first.ids;
    const { pageSize } = this.pages;
    // A page with fewer messages than `longest` is the last page of the list. If the contact has messages on
    // several pages, `longest` is the size of the contact's longest page. Otherwise the longest page of any other
    // contact of the account is considered too.
    const isCapped = this.length > pageSize;
    const longest = isCapped
      ? pageSize
      : Math.max(pageSize, Math.min(this.plan.longestPage, DOCUMENTED_MAX_MESSAGES_PER_PAGE));
    // A page that is shorter than its limit is usually the last one. But if more messages than the documented maximum
    // are requested, upstream may cut pages to a length that is not known. Such a page is certainly the last one only
    // if an earlier page of the account was longer.
    const maxCount =
      first.limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE ? Math.min(first.limit, this.plan.longestPage) : longest;
    // A page that was requested with a reduced limit does not show where the list ends.
    const isWhole = first.limit >= DOCUMENTED_MAX_MESSAGES_PER_PAGE;
    this.showsEnd = first.count === 0 || (first.count < maxCount && isWhole);
  }

  /**
   * Returns true if the next page may contain more new messages: the last message of this page is new, or no message
   * of this page is readable. If messages are misplaced, new messages may also follow a few known ones.
   */
  private mayMoreBeNew({ lastIsNew, ids, count }: PageRead): boolean {
    if (lastIsNew || (ids.length === 0 && count > 0)) return true;
    const { knownCount, pageSize } = this.pages;
    return this.hasMisplacedMessages && !this.showsEnd && knownCount <= maxPlaces(pageSize);
  }

  /**
   * Reads the pages after page 1, until a page ends in a known message or the list ends. Called if page 2 may
   * contain more new messages; see {@link mayMoreBeNew}.
   */
  private async readFurtherPages(first: PageRead): Promise<void> {
    const top = await this.enlarged(first);
    let last = top;
    let pages = 1;
    let unreadable = top.ids.length === 0 ? 1 : 0;
    let ended = false;
    let endRepeats = false;
    while (this.mayMoreBeNew(last) && !ended) {
      if (pages >= MAX_PAGES || unreadable >= MAX_CONSECUTIVE_UNREADABLE_PAGES) {
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
    // A page that repeats the previous one is usually the end of the list, because some services return the
    // last page again and again. But if the list grew by a whole page between the two requests, the list goes
    // on, and more new messages may follow.
    if (endRepeats && hasGrown) this.coversAllNew = false;
    this.metNoKnownMessage = ended && !(endRepeats && hasGrown);
  }

  /**
   * Reads page 1 again with {@link LARGE_PAGE_LIMIT}. Returns `first` unchanged if `first` is not full, if page 1
   * needs a reduced limit, if upstream is known not to honour the large limit, or if upstream fails to return the
   * larger page.
   */
  private async enlarged(first: PageRead): Promise<PageRead> {
    if (
      this.limit === DOCUMENTED_MAX_MESSAGES_PER_PAGE ||
      this.headLimit !== undefined ||
      first.count < DOCUMENTED_MAX_MESSAGES_PER_PAGE
    )
      return first;
    try {
      const larger = await this.take(1, LARGE_PAGE_LIMIT);
      this.limit =
        larger.count > DOCUMENTED_MAX_MESSAGES_PER_PAGE ? LARGE_PAGE_LIMIT : DOCUMENTED_MAX_MESSAGES_PER_PAGE;
      this.setHeadFromTop(larger);
      return { ...larger, limit: this.limit };
    } catch (error) {
      if (!mayBeCausedByPageSize(error)) throw error;
      this.limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
      return first;
    }
  }

  /**
   * Reads the first pages again until a repetition finds no further new message, because messages may have
   * moved from page to page between two requests. Returns true if a repetition found a further new message.
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

  /** Reads an oldest-first list to its end, from the page that was the last one at the previous read. */
  private async readTail(): Promise<void> {
    for (let looks = 0; looks < MAX_REPEATS; looks += 1) {
      const { pages, foundNew } = await this.readTailOnce();
      if (pages === 1 || !foundNew) return;
    }
    this.coversAllNew = false;
  }

  private async readTailOnce(): Promise<{ pages: number; foundNew: boolean }> {
    this.pages.beginPass();
    const { ignoresLimit } = this;
    const before = this.pages.requests;
    const { page, limit } = this.requestForLastPage();
    const start = (page - 1) * limit;
    let first = page;
    let reads = [await this.takeOfTail(page, page === 1 ? this.limitOfOnlyPage(limit) : limit)];
    // The requested page should start with a known message. If the page is empty, the list became shorter. If the
    // page starts with a new message, messages moved from page to page. In both cases, earlier pages are read, back
    // to a page that starts with a known message. If upstream may ignore the limit, one earlier page is read, which
    // shows whether upstream does so.
    while (first > 1 && page - first < MAX_PAGES) {
      const isEmpty = reads[0]?.count === 0;
      const mayIgnoreLimit = first === page && this.mayIgnoreLimit(reads[0], start);
      if (!isEmpty && reads[0]?.firstIsNew !== true && !mayIgnoreLimit) break;
      first -= 1;
      const read = await this.takeOfTail(first, limit);
      reads = isEmpty ? [read] : [read, ...reads];
    }
    // The read has shown that upstream ignores the limit. The pages therefore began at other messages than
    // assumed, and are read again.
    if (this.ignoresLimit && !ignoresLimit) return this.readTailOnce();
    await this.readToEnd(reads, first + reads.length - 1);
    this.setHeadFromTail(start, (first - 1) * limit, reads);
    return { pages: this.pages.requests - before, foundNew: reads.some((read) => read.newIds.length > 0) };
  }

  private requestForLastPage(): PageRequest {
    return requestForLastPage(this.length, this.pages.pageSize, this.ignoresLimit);
  }

  /**
   * Returns the limit for a request that is expected to return the whole list as one page. If upstream ignores the
   * limit, the page may be as long as the longest page of any contact, so the limit is raised to that length, but
   * not above the documented maximum.
   */
  private limitOfOnlyPage(limit: number): number {
    const longest = Math.min(this.plan.longestPage, DOCUMENTED_MAX_MESSAGES_PER_PAGE);
    return this.ignoresLimit ? Math.max(limit, longest) : limit;
  }

  /**
   * Returns true if the last page has fewer messages than expected. The reason may be that upstream ignores the
   * limit, so that the page begins at another message than assumed. The page before the last one shows whether
   * upstream does so.
   */
  private mayIgnoreLimit(last: PageRead | undefined, start: number): boolean {
    // If upstream honours the large limit, it does not ignore limits.
    if (this.limit !== DOCUMENTED_MAX_MESSAGES_PER_PAGE) return false;
    return last !== undefined && last.limit < this.pages.pageSize && last.count < this.length - start;
  }

  /**
   * Reads a page at the end of an oldest-first list. If the page fails, and earlier reads suggest that a single
   * message is the cause, reads the page in parts. Without this, later reads would fail too, because that message
   * stays on this page.
   */
  private async takeOfTail(page: number, limit: number): Promise<PageRead> {
    try {
      const read = await this.pages.takeWhole(page, limit);
      this.ignoresLimit ||= read.count > limit;
      return this.withOrderChecked(read);
    } catch (error) {
      if (!this.isMessageSuspected() || !mayBeCausedBySingleMessage(error)) throw error;
      return this.withOrderChecked(await this.pages.takeParts({ page, limit }, limit, error));
    }
  }

  /** Reads the pages after page number `from`, until a page is not full. Adds the pages to `reads`. */
  private async readToEnd(reads: PageRead[], from: number): Promise<void> {
    let last = reads.at(-1);
    for (let page = from + 1; last !== undefined && last.count >= last.limit; page += 1) {
      if (page - from > MAX_PAGES) {
        this.coversAllNew = false;
        return;
      }
      const next = await this.takeOfTail(page, last.limit);
      if (next.count === 0) {
        if (!(await this.pages.continuesAfter(last, page))) return;
        continue;
      }
      if (next.repeats) return;
      reads.push(next);
      last = next;
    }
  }

  /**
   * Sets the head and the length of an oldest-first list after a read of its end.
   * @param planned index in the list at which the page that was requested first begins
   * @param from index in the list at which the earliest page that was read begins
   * @param reads all pages from the index `from` to the end of the list
   */
  private setHeadFromTail(planned: number, from: number, reads: readonly PageRead[]): void {
    const ids = reads.flatMap((read) => read.ids);
    this.shown = ids.slice(Math.max(planned - from, 0));
    this.length = from + reads.reduce((sum, read) => sum + read.count, 0);
    const { page, limit } = this.requestForLastPage();
    const nextFrom = (page - 1) * limit;
    // The head begins at the index `nextFrom` of the list, because the next read will begin there.
    this.head = nextFrom < from ? [] : ids.slice(nextFrom - from);
  }
}
