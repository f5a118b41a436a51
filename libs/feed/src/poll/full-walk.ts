import { RowMessageCollector } from '#conversations';
import type { UpstreamMessage } from '#upstream';
import { compareWithAssumedOrder, MessageOrderDetector } from '../walk/message-order-detector.js';
import { mayBeCausedByPageSize } from '../walk/page-errors.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE, LARGE_PAGE_LIMIT } from '../walk/page-limits.js';
import type { PageOrder } from '../walk/page-order.js';
import type { PageRead, PageReader } from '../walk/page-reader.js';
import type { PagesRead } from '../walk/pages-read.js';
import { MAX_CONSECUTIVE_UNREADABLE_PAGES } from '../walk/walk-bounds.js';
import {
  type CommittingPageReader,
  FailedPageRead,
  MAX_PAGES_PER_DEEP_READ,
} from './committing-page-reader.js';
import type { PageCommitter } from './page-committer.js';
import { toConversationRowMessage } from './row-update.js';
import { upstreamClockDifferenceMs } from './upstream-clock.js';

/** Maximum number of messages for one read. If a contact has more messages, upstream is probably faulty. */
const MAX_MESSAGES = 200_000;
/**
 * If a page from page 2 up to this page number fails even after a retry, the pass starts again at page 1. If a page
 * with a higher number fails, the pass goes on, because too many pages would have to be read again.
 */
const MAX_RESTART_PAGE = 5;
/**
 * Number of message ids to keep from the end of the list. If upstream lists the oldest messages first, the
 * newest messages are on the last page, which has at most this many messages.
 */
const TAIL_IDS = LARGE_PAGE_LIMIT;

/** Reads all pages of a contact's list with each call of {@link pass}, and records what they show about the list. */
export class FullWalk {
  /**
   * True if the last pass ended with an empty page and read no message twice. Probably no message then moved from
   * page to page, and the pass missed none.
   */
  isStable = false;
  /** Collects data for the conversation row. Reset when the read starts again at page 1. */
  rowMessages = new RowMessageCollector();
  private readonly reader: PageReader;
  private orderDetector = new MessageOrderDetector();
  private firstIds: readonly string[] = [];
  private lastIds: string[] = [];
  /** How far upstream's clock is ahead of Redis' clock, in milliseconds. Undefined while unknown. */
  private aheadMs: number | undefined;
  /**
   * True if the last pass ended with a page that contained only messages of earlier pages. Messages may then have
   * moved by a whole page during the pass.
   */
  private endedOnRepeat = false;

  constructor(
    private readonly pages: CommittingPageReader,
    private readonly commits: PageCommitter,
  ) {
    this.reader = pages.reader;
  }

  /**
   * Reads all pages once. Returns the number of the last page that was read, or `stopped` if the read ended early: it
   * was aborted, commits were refused too often, or {@link PageCommitter.refreshState} returned false.
   */
  async pass(): Promise<number | 'stopped'> {
    const small = async (): Promise<number | 'stopped'> => {
      this.pages.noteLargePagesRefused();
      return this.passOf(DOCUMENTED_MAX_MESSAGES_PER_PAGE);
    };
    try {
      if (this.pages.limit !== undefined) return await this.passOf(this.pages.limit);
      const first = await this.findLimit();
      return first === undefined ? 'stopped' : await this.passOf(first.limit, first);
    } catch (error) {
      // Upstream may no longer accept the large page limit, or a message makes a large page fail. The pages are then
      // read with the documented limit.
      const isLarge = this.pages.limit === LARGE_PAGE_LIMIT && this.reader.requests.askedForLargePage;
      if (!isLarge || !mayBeCausedByPageSize(error)) throw error;
      return small();
    }
  }

  /**
   * Finds out whether upstream honours the large limit. Requests page 1 with the documented limit. If the page is
   * full, requests page 1 again with the large limit; if it is not, the answer stays unknown. Skips the first request
   * if earlier reads returned a full page. Returns page 1 as it was read last, or undefined if the read ended early.
   */
  private async findLimit(): Promise<PageRead | undefined> {
    let first: PageRead | undefined;
    if (this.commits.state.pollState.pageSize < DOCUMENTED_MAX_MESSAGES_PER_PAGE) {
      this.beginPass();
      first = await this.pages.readPage(1, DOCUMENTED_MAX_MESSAGES_PER_PAGE);
      if (first === undefined || first.count < DOCUMENTED_MAX_MESSAGES_PER_PAGE) return first;
    }
    try {
      this.beginPass();
      const larger = await this.pages.readPage(1, LARGE_PAGE_LIMIT);
      if (larger === undefined) return undefined;
      this.pages.limit =
        larger.count > DOCUMENTED_MAX_MESSAGES_PER_PAGE ? LARGE_PAGE_LIMIT : DOCUMENTED_MAX_MESSAGES_PER_PAGE;
      return { ...larger, limit: this.pages.limit };
    } catch (error) {
      if (!mayBeCausedByPageSize(error)) throw error;
      this.pages.noteLargePagesRefused();
      this.beginPass();
      return this.pages.readPage(1, DOCUMENTED_MAX_MESSAGES_PER_PAGE);
    }
  }

  private beginPass(): void {
    this.pages.beginPass();
    this.orderDetector = new MessageOrderDetector();
    this.lastIds = [];
    this.rowMessages = new RowMessageCollector();
    this.isStable = false;
    this.endedOnRepeat = false;
  }

  /**
   * Reads all pages. Returns the number of the last page that was read, or `stopped` if the read ended early.
   * @param limit maximum number of messages per page
   * @param first page 1, if page 1 was already read with this limit
   */
  private async passOf(limit: number, first?: PageRead): Promise<number | 'stopped'> {
    if (first === undefined) this.beginPass();
    let last: PageRead | undefined;
    let unreadable = 0;
    let count = 0;
    for (let page = 1; page <= MAX_PAGES_PER_DEEP_READ; page += 1) {
      if (this.pages.isStopped()) return 'stopped';
      const waitedBefore = this.pages.wasRetried(page);
      let read = page === 1 && first !== undefined ? first : await this.pages.tryPage(page, limit);
      if (read instanceof FailedPageRead) {
        // Messages may have moved to other pages during the wait before the retry, so all pages are read again
        // from page 1.
        const hasWaited = !waitedBefore && this.pages.wasRetried(page);
        if (hasWaited && page > 1 && page <= MAX_RESTART_PAGE) return this.passOf(limit);
        read = await this.pages.readPageInParts(page, limit, read);
      }
      if (read === undefined) return 'stopped';
      if (page === 1) this.firstIds = read.ids;
      if (read.ids.length === 0 && read.count > 0) {
        unreadable += 1;
        if (unreadable === MAX_CONSECUTIVE_UNREADABLE_PAGES) return page;
        continue;
      }
      unreadable = 0;
      if (read.repeats) {
        const isEmpty = read.ids.length === 0;
        if (isEmpty && last !== undefined && (await this.reader.continuesAfter(last, page))) continue;
        // The read is stable only if the list ended with an empty page and no message appeared twice. Otherwise
        // upstream may shuffle the list or ignore the parameter `page`, and may have more messages than it
        // returned.
        this.isStable = read.count === 0 && count === this.reader.records.servedCount;
        this.endedOnRepeat = !isEmpty;
        return page;
      }
      count += read.ids.length;
      last = read;
      // Messages that were on an earlier page too are left out, because they say nothing about the order of
      // the list.
      const added = read.items.filter(({ id }) => read.added.has(id));
      this.orderDetector.add(added);
      this.addToRowMessages(added);
      this.lastIds = [...this.lastIds, ...added.map(({ id }) => id)].slice(-TAIL_IDS);
      if (compareWithAssumedOrder(this.pages.order, read.items, this.reader.pageSize) === 'contradict')
        this.pages.order = 'unsorted';
      if (this.reader.records.ids.size > MAX_MESSAGES) return page;
    }
    return MAX_PAGES_PER_DEEP_READ;
  }

  /**
   * Returns true if messages seem to have moved between pages during the last pass in such a way that the pass may
   * have missed some messages.
   */
  hasShifted(): boolean {
    return this.reader.records.servedTwice || this.endedOnRepeat;
  }

  /** Returns what the last pass found out about the list, without its messages. */
  reading(): PagesRead {
    const { order, hasMisplacedMessages } = this.orderDetector.observedOrder(this.reader.pageSize);
    const reading = { ...this.pages.reading(), ...this.observedList(order), hasMisplacedMessages };
    if (!this.knowsLimit()) delete reading.limit;
    return reading;
  }

  private addToRowMessages(messages: readonly UpstreamMessage[]): void {
    const { state } = this.commits;
    const { firstReply } = this.reader.requests;
    // The difference between upstream's clock and Redis' clock is computed only once, from the first reply
    // that has a date.
    this.aheadMs ??= firstReply === undefined ? undefined : upstreamClockDifferenceMs(firstReply, state);
    const clock = { now: state.now, upstreamAheadMs: this.aheadMs ?? 0 };
    for (const message of messages) this.rowMessages.add(toConversationRowMessage(message, clock, false));
  }

  /**
   * Returns what the last pass found out: the order of the contact's messages at upstream, their number, and
   * the new head. Leaves out the head if the stored head is kept.
   * @param seen order that the timestamps of the messages show
   */
  private observedList(seen: PageOrder): Pick<PagesRead, 'order' | 'length' | 'head'> {
    const order = seen === 'unknown' ? this.pages.order : seen;
    const length = this.reader.records.servedCount;
    const { pollState } = this.commits.state;
    if (order === 'oldestFirst') {
      // It is unknown where on their pages the unreadable elements are, so the head cannot be computed. A later
      // read of the newest messages sets the head.
      const { skipped } = this.reader;
      if (skipped > 0)
        return order === pollState.order
          ? { order, length: pollState.length }
          : { order, length: length + skipped, head: [] };
      const { page, limit } = this.pages.requestForLastPage(length);
      const count = length - (page - 1) * limit;
      return { order, length, head: count > 0 ? this.lastIds.slice(-count) : [] };
    }
    // The stored head is usually kept, because reads of the newest messages may have updated it during this
    // deep read. If the stored head is empty or the order of the list changed, page 1 of this deep read
    // becomes the head.
    const isKnown = order === pollState.order && pollState.head !== '';
    return {
      order,
      length,
      ...(isKnown ? {} : { head: this.firstIds.slice(0, DOCUMENTED_MAX_MESSAGES_PER_PAGE) }),
    };
  }

  /**
   * Returns true if the read has shown which page limit upstream honours. If all messages of the contact fit on a
   * page of the documented size, the read cannot show this.
   */
  private knowsLimit(): boolean {
    return (
      this.pages.limit !== DOCUMENTED_MAX_MESSAGES_PER_PAGE ||
      this.pages.refusesLargePages ||
      this.reader.records.servedCount > DOCUMENTED_MAX_MESSAGES_PER_PAGE
    );
  }
}
