import { type HeadPlan, knownLimitOf } from './head-plan.js';
import { compareWithAssumedOrder } from './message-order-detector.js';
import type { PageOrder } from './page-order.js';
import { mayBeCausedByPageSize, mayBeCausedBySingleMessage } from './page-errors.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE } from './page-limits.js';
import { type PageRead, PageReader } from './page-reader.js';
import type { ContactSource } from './page-requests.js';
import { type PageRequest, requestForLastPage } from './page-tail.js';
import { FAILED_READS_UNTIL_PAGE_IS_SKIPPED } from './walk-bounds.js';

/**
 * A read of the newest messages: the pages so far, and what they show about the contact's list. For each order of
 * the list, a function reads the pages and updates this object; see `readNewestMessages`. A field without a comment
 * has the same meaning as in `PagesRead`.
 */
export class HeadWalk {
  readonly pages: PageReader;
  order: PageOrder;
  /**
   * True if this or an earlier read found messages that are not where their timestamps put them. Means nothing if
   * {@link order} is `unsorted`.
   */
  hasMisplacedMessages: boolean;
  length: number;
  limit: number | undefined;
  headLimit: number | undefined;
  /**
   * True if upstream returned more messages on a page at the end of the list than were requested, in this read or an
   * earlier one.
   */
  ignoresLimit: boolean;
  /**
   * Ids of the messages that are compared with the previous head, in the order in which upstream lists them.
   * These are the messages on page 1. In an oldest-first list, they are all messages from the start of the
   * previous head to the end of the list.
   */
  shown: readonly string[] = [];
  /** Ids of the messages in the new head, in the order in which upstream lists them. */
  head: readonly string[] = [];
  /** True if this read found all new messages. If false, a read of all pages is needed. */
  coversAllNew = true;
  /**
   * True if the list was read to its end and no known message was found. In a newest-first list, only the last
   * message of each page is checked. In a list in another order, all messages are checked.
   */
  metNoKnownMessage = false;
  /** True if this read has shown that the list ends on page 1. */
  showsEnd = false;

  constructor(
    contact: ContactSource,
    readonly plan: HeadPlan,
  ) {
    // If page 1 had to be read with a reduced limit, or earlier reads failed too, a single message probably makes
    // pages fail. Another page that fails, perhaps because of a single message, is then read in parts. Otherwise, the
    // error of that page is thrown.
    const isMessageFault = (error: unknown): boolean =>
      (this.headLimit !== undefined || this.isMessageSuspected()) && mayBeCausedBySingleMessage(error);
    this.pages = new PageReader(contact, plan.pageSize, isMessageFault);
    this.order = plan.order;
    this.hasMisplacedMessages = plan.hasMisplacedMessages;
    this.length = plan.length;
    this.limit = knownLimitOf(plan);
    this.headLimit = plan.headLimit;
    this.ignoresLimit = plan.ignoresLimit;
  }

  /** Reads a page, and checks whether its messages contradict the assumed order of the list. */
  async readPage(page: number, limit: number): Promise<PageRead> {
    return this.withOrderChecked(await this.pages.readPage(page, limit));
  }

  /**
   * Reads page 1 with the given limit, and records it in the walk; see {@link noteFirstPage}. If the page cannot be
   * read, does not try smaller first pages, unlike `readFirstPage`.
   */
  async readFirstPageWithLimit(limit: number): Promise<PageRead> {
    return this.noteFirstPage(await this.pages.readPage(1, limit));
  }

  /**
   * Records what page 1 shows of the list: its head, whether it ends there, and its order. Returns the page
   * unchanged.
   */
  noteFirstPage(first: PageRead): PageRead {
    this.setHeadFromTop(first);
    return this.withOrderChecked(first);
  }

  /**
   * Compares the messages of a page with the assumed order of the list. If they contradict it, sets the order to
   * `unsorted` and {@link coversAllNew} to false. If some are only misplaced, sets {@link hasMisplacedMessages}.
   * Returns the page unchanged.
   */
  withOrderChecked(read: PageRead): PageRead {
    const comparison = compareWithAssumedOrder(this.order, read.items, this.pages.pageSize);
    if (comparison === 'misplaced') this.hasMisplacedMessages = true;
    if (comparison === 'contradict') {
      this.order = 'unsorted';
      this.coversAllNew = false;
    }
    return read;
  }

  /**
   * Returns true if earlier reads suggest that one message makes the page fail each time. After only one
   * failed read, the cause may be something else.
   */
  isMessageSuspected(): boolean {
    return this.plan.failures > 0 || this.plan.hasPermanentlyUnreadableMessage;
  }

  /**
   * Returns true if a page that cannot be read must not make the read fail: earlier reads have failed too often, and
   * the error may have occurred because the page was too large.
   */
  mustEndWithoutPage(error: unknown): boolean {
    return this.plan.failures >= FAILED_READS_UNTIL_PAGE_IS_SKIPPED && mayBeCausedByPageSize(error);
  }

  /** Sets the head after a read of page 1, and whether the list ends there. */
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

  /** Returns true if page 1 contains all messages of the list. */
  showsAll(first: PageRead): boolean {
    return this.showsEnd && first.ids.length >= this.length;
  }

  /**
   * After a read of page 1 of a list that is unsorted or whose order is unknown, sets {@link coversAllNew}: true only
   * if page 1 contains all messages of the list. In that case, also sets {@link length}.
   */
  settleWithoutOrder(first: PageRead): void {
    this.coversAllNew = this.showsAll(first);
    if (this.coversAllNew) this.length = first.ids.length;
  }

  /**
   * Returns the request for the last page of an oldest-first list, calculated from the last known length of the list.
   */
  requestForLastPage(): PageRequest {
    return requestForLastPage(this.length, this.pages.pageSize, this.ignoresLimit);
  }

  /**
   * Sets {@link head}, {@link shown} and {@link length} after a read of the end of an oldest-first list.
   * @param planned index in the list at which the page that was requested first begins
   * @param from index in the list at which the earliest page that was read begins
   * @param reads all pages from the index `from` to the end of the list
   */
  setHeadFromTail(planned: number, from: number, reads: readonly PageRead[]): void {
    const ids = reads.flatMap((read) => read.ids);
    this.shown = ids.slice(Math.max(planned - from, 0));
    this.length = from + reads.reduce((sum, read) => sum + read.count, 0);
    const { page, limit } = this.requestForLastPage();
    const nextFrom = (page - 1) * limit;
    // The head begins at the index `nextFrom` of the list, because the next read will begin there.
    this.head = nextFrom < from ? [] : ids.slice(nextFrom - from);
  }
}
