import { RowMessageCollector } from '#conversations';
import { CommittingPageReader, FailedPageRead, MAX_COMMIT_CONFLICTS } from './committing-page-reader.js';
import type { FeedStore } from '../feed-store.js';
import type { ContactState } from '../snapshot/contact-state.js';
import { MAX_CONSECUTIVE_UNREADABLE_PAGES } from '../walk/walk-bounds.js';
import { isFlagMissing, isWithinSettleTime, type KnownMessage } from '../snapshot/known-message.js';
import { compareWithAssumedOrder, MessageOrderDetector } from '../walk/message-order-detector.js';
import type { PageOrder } from '../walk/page-order.js';
import { mayBeCausedByPageSize } from '../walk/page-errors.js';
import { LARGE_PAGE_LIMIT, DOCUMENTED_MAX_MESSAGES_PER_PAGE } from '../walk/page-limits.js';
import type { PageRead, PageReader } from '../walk/page-reader.js';
import { type PageRequest, requestForLastPage } from '../walk/page-tail.js';
import { hashAndJoinIds, splitIdHashes } from '../snapshot/poll-state.js';
import { toConversationRowMessage } from './row-update.js';
import { upstreamClockDifferenceMs } from './upstream-clock.js';
import type { UpstreamMessage } from '#upstream';
import type { PollCommitter } from './poll-committer.js';
import type { FeedSource, LookupReads, ReadPurpose } from '../ports.js';
import type { FullRead, PagesRead } from '../walk/pages-read.js';

/**
 * Maximum numbers of pages and messages for one read of older messages. If a contact has more pages or messages,
 * upstream is probably faulty.
 */
const MAX_PAGES = 10_000;
const MAX_MESSAGES = 200_000;
/**
 * Maximum number of times that one read of a contact goes through all pages. For example, a read that found new
 * messages goes through all pages again.
 */
const MAX_PASSES = 5;
/**
 * If all retries of a page with this or a lower number fail, the read starts again at page 1. If a later page fails,
 * the read does not start again, because too many pages would have to be read again.
 */
const MAX_RESTART_PAGE = 5;
/**
 * Number of message ids to keep from the end of the list. If upstream lists the oldest messages first, the
 * newest messages are on the last page, which has at most this many messages.
 */
const TAIL_IDS = LARGE_PAGE_LIMIT;

export interface DeepReadSettings {
  /** Time after a message's timestamp during which its flags may still change, in milliseconds. */
  settleMs: number;
  /**
   * How long to wait before each retry of a failed page, in milliseconds. If the last retry fails too, the
   * page is read in smaller parts.
   */
  pageRetriesMs: readonly number[];
}

/** Which contact's older messages are read, for which purpose, and how many of them. */
export interface DeepTask {
  account: string;
  contactId: string;
  purpose: ReadPurpose;
  /**
   * `everything`: read all messages. `unsettled`: read only as many pages as needed to find all messages with
   * flags (`delivered`, `read`) that may still change.
   */
  goal: 'everything' | 'unsettled';
  /**
   * Receives the messages that are read. Present only during a look-up, which searches for the messages of sends.
   */
  lookup?: LookupReads;
  /** Aborts the read after the current page. */
  signal?: AbortSignal;
}

/**
 * Reads the older messages of a contact, page by page. Each page is compared with the snapshot and committed
 * on its own. Reads of the newest messages can therefore continue meanwhile, and an aborted read of older
 * messages loses nothing.
 *
 * A message that is on no page may have moved between pages during the read. If a message is missing, all
 * pages are therefore read a second time.
 */
export class DeepRead {
  private readonly pages: CommittingPageReader;
  /** Reads the pages and collects their messages. */
  private readonly reader: PageReader;
  /** Timestamps of the messages below the head of which a flag is not set yet, by message id. */
  private readonly withMissingFlag = new Map<string, number | undefined>();
  /**
   * `knownBefore`: ids of the messages that were known before the read began. `presentBefore`: the same ids
   * without those of deleted messages. Only the messages in `presentBefore` can be missing.
   */
  private knownBefore: ReadonlySet<string> = new Set();
  private presentBefore: readonly string[] = [];
  private orderDetector = new MessageOrderDetector();
  /** True if upstream failed to answer a request for more messages per page than the documented maximum. */
  private refusesLargePages = false;
  private firstIds: readonly string[] = [];
  private lastIds: string[] = [];
  private stable = false;
  /** Collects data for the conversation row. Reset when the read starts again at page 1. */
  private rowMessages = new RowMessageCollector();
  private readonly startedAt: number;
  /**
   * Time at which an extra read of all pages is due, as stored in `PollState.completeDueAt` when this read began.
   * Undefined if no extra read was planned.
   */
  private readonly dueAt: number | undefined;
  /** How far upstream's clock is ahead of Redis' clock, in milliseconds. Undefined while unknown. */
  private aheadMs: number | undefined;
  /**
   * True if the read ended with a page that contained only messages of earlier pages. Messages may then have moved
   * by a whole page during the read.
   */
  private endedOnRepeat = false;

  constructor(
    private readonly store: FeedStore,
    source: FeedSource,
    private readonly committer: PollCommitter,
    private readonly settings: DeepReadSettings,
    private readonly task: DeepTask,
    state: ContactState,
  ) {
    const { pageRetriesMs } = settings;
    this.startedAt = state.now;
    this.dueAt = state.pollState.completeDueAt;
    this.pages = new CommittingPageReader(store, source, committer, { ...task, pageRetriesMs }, state);
    this.reader = this.pages.reader;
  }

  /**
   * Runs the read of older messages.
   * @returns true if the read reached its goal and was committed; false if the read ended early, and must start again
   * @throws {UpstreamError} if a page could not be read; earlier pages stay committed
   */
  async run(): Promise<boolean> {
    const { goal } = this.task;
    this.noteKnown(await this.allKnown());
    this.pages.holdBack(this.presentBefore.length);
    return goal === 'everything' || !this.isOrderUsable() ? this.readAllPages() : this.readUnsettled();
  }

  /** Keeps only the ids of the known messages during the deep read. The rest of the snapshot may be large. */
  private noteKnown(known: ReadonlyMap<string, KnownMessage>): void {
    this.knownBefore = new Set(known.keys());
    this.presentBefore = [...known].filter(([, { deleted }]) => !deleted).map(([id]) => id);
    // Messages at the head need no deep read, because each read of the newest messages contains them.
    const head = new Set(splitIdHashes(this.pages.state.pollState.head));
    for (const [id, message] of known)
      if (isFlagMissing(message) && !head.has(hashAndJoinIds([id])))
        this.withMissingFlag.set(id, message.timestamp);
  }

  private isOrderUsable(): boolean {
    return this.pages.order === 'newestFirst' || this.pages.order === 'oldestFirst';
  }

  private async readUnsettled(): Promise<boolean> {
    const met =
      this.pages.order === 'newestFirst'
        ? await this.readUnsettledNewestFirst()
        : await this.readUnsettledOldestFirst();
    if (met === 'stopped') return false;
    // All pages so far contained only unknown messages. A read of all pages shows whether upstream still lists
    // the known messages.
    if (this.pages.showsOtherMessages) return this.readAllPages();
    return this.end(met === 'all' ? undefined : 'missed');
  }

  private async readUnsettledNewestFirst(): Promise<'all' | 'end' | 'stopped'> {
    const limit = this.pages.limit ?? DOCUMENTED_MAX_MESSAGES_PER_PAGE;
    if (limit <= DOCUMENTED_MAX_MESSAGES_PER_PAGE) return this.readUnsettledFrom(2, limit);
    try {
      return await this.readUnsettledFrom(1, limit);
    } catch (error) {
      if (!this.reader.askedForLargePage || !mayBeCausedByPageSize(error)) throw error;
      this.refusesLargePages = true;
      this.pages.limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
      this.beginPass();
      return this.readUnsettledFrom(2, DOCUMENTED_MAX_MESSAGES_PER_PAGE);
    }
  }

  /**
   * Reads pages of a newest-first list until all messages are found whose flags may still change. With the documented
   * limit, the read begins at page 2, because page 1 is the head, and each read of the newest messages reads the head.
   */
  private async readUnsettledFrom(first: number, limit: number): Promise<'all' | 'end' | 'stopped'> {
    for (let page = first; page <= MAX_PAGES; page += 1) {
      if (this.pages.isStopped()) return 'stopped';
      const read = await this.pages.take(page, limit);
      if (read === undefined) return 'stopped';
      if (this.hasReadAllUnsettled()) return 'all';
      if (read.repeats) return 'end';
    }
    return 'end';
  }

  private async readUnsettledOldestFirst(): Promise<'all' | 'end' | 'stopped'> {
    const { length, head } = this.pages.state.pollState;
    const { limit } = this.requestForLastPage(length);
    // The list is sorted oldest first, so the head is at its end. The read starts with the page that contains the newest
    // message before the head, and goes back to page 1. The first page that is read may also contain the beginning of
    // the head, because the head may have been read with a different limit.
    const older = length - splitIdHashes(head).length;
    for (let page = Math.max(Math.ceil(older / limit), 1); page >= 1; page -= 1) {
      if (this.pages.isStopped()) return 'stopped';
      if ((await this.pages.take(page, limit)) === undefined) return 'stopped';
      if (this.hasReadAllUnsettled()) return 'all';
    }
    return 'end';
  }

  private async readAllPages(): Promise<boolean> {
    // The documented limit may be in use only because a single request with a larger limit failed. The limit is
    // therefore determined again. This usually costs an extra request only if the larger limit fails again.
    if (this.pages.limit === DOCUMENTED_MAX_MESSAGES_PER_PAGE) this.pages.limit = undefined;
    const isFirst = this.pages.state.emitAfter !== undefined;
    let mayRepeatForMissing = true;
    for (let passes = 1; passes <= MAX_PASSES; passes += 1) {
      const pages = await this.pass();
      if (pages === 'stopped') return false;
      if (this.pages.showsOtherMessages) return this.pages.commitHeldPages();
      // If an element could not be parsed, it may be one of the missing messages. Missing messages are then
      // no reason to read the pages again.
      const isWhole = this.reader.skipped === 0;
      const isMissing = this.stable && isWhole && this.areSomeMissing();
      const mayHaveMissed = !this.stable && this.hasShifted();
      const foundNew = this.pages.foundNew && pages > 1 && isWhole;
      // New messages may have moved other messages to pages that were already read, so the pages are read again. At
      // the first read of a contact, all messages are new, so only `mayHaveMissed` decides.
      const again = isFirst ? mayHaveMissed : foundNew;
      if (again) continue;
      if (!isMissing || !mayRepeatForMissing) break;
      mayRepeatForMissing = false;
    }
    return this.end('everything');
  }

  /**
   * Reads all pages once. Returns the number of pages, or `stopped` if the signal aborted the read or if
   * commits were refused too often.
   */
  private async pass(): Promise<number | 'stopped'> {
    const small = async (): Promise<number | 'stopped'> => {
      this.refusesLargePages = true;
      this.pages.limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
      return this.passOf(DOCUMENTED_MAX_MESSAGES_PER_PAGE);
    };
    try {
      if (this.pages.limit !== undefined) return await this.passOf(this.pages.limit);
      const first = await this.findLimit();
      return first === undefined ? 'stopped' : await this.passOf(first.limit, first);
    } catch (error) {
      // Upstream may no longer accept the large page limit, or a message makes a large page fail. The pages are then read
      // with the documented limit.
      const isLarge = this.pages.limit === LARGE_PAGE_LIMIT && this.reader.askedForLargePage;
      if (!isLarge || !mayBeCausedByPageSize(error)) throw error;
      return small();
    }
  }

  /**
   * Finds out the largest page limit that upstream honours. Requests page 1 with the documented limit. If the page
   * is full, requests page 1 again with a larger limit. Skips the first request if earlier reads showed that the
   * page is full. Returns page 1 as it was read last, or undefined if the read ended early.
   */
  private async findLimit(): Promise<PageRead | undefined> {
    let first: PageRead | undefined;
    if (this.pages.state.pollState.pageSize < DOCUMENTED_MAX_MESSAGES_PER_PAGE) {
      this.beginPass();
      first = await this.pages.take(1, DOCUMENTED_MAX_MESSAGES_PER_PAGE);
      if (first === undefined || first.count < DOCUMENTED_MAX_MESSAGES_PER_PAGE) return first;
    }
    try {
      this.beginPass();
      const larger = await this.pages.take(1, LARGE_PAGE_LIMIT);
      if (larger === undefined) return undefined;
      this.pages.limit =
        larger.count > DOCUMENTED_MAX_MESSAGES_PER_PAGE ? LARGE_PAGE_LIMIT : DOCUMENTED_MAX_MESSAGES_PER_PAGE;
      return { ...larger, limit: this.pages.limit };
    } catch (error) {
      if (!mayBeCausedByPageSize(error)) throw error;
      this.refusesLargePages = true;
      this.pages.limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
      this.beginPass();
      return this.pages.take(1, DOCUMENTED_MAX_MESSAGES_PER_PAGE);
    }
  }

  private beginPass(): void {
    this.pages.beginPass();
    this.orderDetector = new MessageOrderDetector();
    this.lastIds = [];
    this.rowMessages = new RowMessageCollector();
    this.stable = false;
    this.endedOnRepeat = false;
  }

  /**
   * Reads all pages. Returns the number of pages, or `stopped` if the read ended early.
   * @param limit number of messages per page
   * @param first page 1, if page 1 was already read with this limit
   */
  private async passOf(limit: number, first?: PageRead): Promise<number | 'stopped'> {
    if (first === undefined) this.beginPass();
    let last: PageRead | undefined;
    let unreadable = 0;
    let count = 0;
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      if (this.pages.isStopped()) return 'stopped';
      const waitedBefore = this.pages.wasRetried(page);
      let read = page === 1 && first !== undefined ? first : await this.pages.tryPage(page, limit);
      if (read instanceof FailedPageRead) {
        // Messages may have moved to other pages during the wait before the retry, so all pages are read again
        // from page 1.
        const hasWaited = !waitedBefore && this.pages.wasRetried(page);
        if (hasWaited && page > 1 && page <= MAX_RESTART_PAGE) return this.passOf(limit);
        read = await this.pages.takeParts(page, limit, read);
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
        this.stable = read.count === 0 && count === this.reader.records.servedCount;
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
    return MAX_PAGES;
  }

  /** Returns true if messages moved between pages during the read, so that the read may have missed some. */
  private hasShifted(): boolean {
    return this.reader.records.servedTwice || this.endedOnRepeat;
  }

  /**
   * Commits the results of the whole read: which messages are missing, the order of the list, and when older
   * messages are read next.
   */
  private async end(result: 'everything' | 'missed' | undefined): Promise<boolean> {
    const seen = this.orderDetector.observedOrder(this.reader.pageSize);
    for (let race = 0; race < MAX_COMMIT_CONFLICTS; race += 1) {
      if (!(await this.pages.refreshState())) return false;
      const known = await this.allKnown();
      const fullRead: FullRead | undefined =
        result === 'everything'
          ? {
              seen: this.reader.records.ids,
              knownBefore: this.knownBefore,
              isStable: this.stable,
              rowMessages: this.rowMessages,
              startedAt: this.startedAt,
              ...(this.dueAt === undefined ? {} : { dueAt: this.dueAt }),
            }
          : undefined;
      const reading: PagesRead = {
        ...this.pages.readingOf([]),
        ...(fullRead === undefined
          ? {}
          : {
              ...this.observedList(seen.order),
              fullRead,
              hasMisplacedMessages: seen.hasMisplacedMessages,
            }),
        unsettledRead: true,
        needsFullRead: result === 'missed',
      };
      if (result === 'everything' && !this.knowsLimit()) delete reading.limit;
      if (await this.committer.commit(this.pages.startOf(), reading, known, 'end')) return true;
    }
    return false;
  }

  private addToRowMessages(messages: readonly UpstreamMessage[]): void {
    const { state, reader } = this.pages;
    // The difference between upstream's clock and Redis' clock is computed only once, from the first reply
    // that has a date.
    this.aheadMs ??=
      reader.firstReply === undefined ? undefined : upstreamClockDifferenceMs(reader.firstReply, state);
    const clock = { now: state.now, upstreamAheadMs: this.aheadMs ?? 0 };
    for (const message of messages) this.rowMessages.add(toConversationRowMessage(message, clock, false));
  }

  /**
   * Returns what this deep read found out: the order of the contact's messages at upstream, their number, and
   * the new head. Leaves out the head if the stored head is kept.
   * @param seen order that the timestamps of the messages show
   */
  private observedList(seen: PageOrder): Pick<PagesRead, 'order' | 'length' | 'head'> {
    const order = seen === 'unknown' ? this.pages.order : seen;
    const length = this.reader.records.servedCount;
    const { pollState } = this.pages.state;
    if (order === 'oldestFirst') {
      // It is unknown where on their pages the unreadable elements are, so the head cannot be computed. A later
      // read of the newest messages sets the head.
      const { skipped } = this.reader;
      if (skipped > 0)
        return order === pollState.order
          ? { order, length: pollState.length }
          : { order, length: length + skipped, head: [] };
      const { page, limit } = this.requestForLastPage(length);
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

  private requestForLastPage(length: number): PageRequest {
    return requestForLastPage(length, this.reader.pageSize, this.pages.state.extension.ignoresLimit === true);
  }

  /**
   * Returns true if the read has shown which page limit upstream honours. If all messages of the contact fit on a
   * page of the documented size, the read cannot show this.
   */
  private knowsLimit(): boolean {
    return (
      this.pages.limit !== DOCUMENTED_MAX_MESSAGES_PER_PAGE ||
      this.refusesLargePages ||
      this.reader.records.servedCount > DOCUMENTED_MAX_MESSAGES_PER_PAGE
    );
  }

  private allKnown(): Promise<ReadonlyMap<string, KnownMessage>> {
    return this.store.allKnownMessages(this.task.account, this.task.contactId);
  }

  private areSomeMissing(): boolean {
    return this.presentBefore.some((id) => !this.reader.records.ids.has(id));
  }

  private hasReadAllUnsettled(): boolean {
    const upstreamNow = this.reader.firstReply?.date ?? this.pages.state.now;
    for (const [id, timestamp] of this.withMissingFlag)
      if (
        isWithinSettleTime(timestamp, upstreamNow, this.settings.settleMs) &&
        !this.reader.records.ids.has(id)
      )
        return false;
    return true;
  }
}
