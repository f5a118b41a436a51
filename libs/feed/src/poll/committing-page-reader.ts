import { pause } from '#platform';
import { UpstreamError, UpstreamStatusError, UpstreamUnavailableError } from '#upstream';
import { isOutageMoreLikelyThanDeletions } from '../diff/absence.js';
import type { FeedStore } from '../feed-store.js';
import type { ContactState } from '../snapshot/contact-state.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import type { PageOrder } from '../walk/page-order.js';
import { mayBeCausedBySingleMessage, mayBeCausedByPageSize } from '../walk/page-errors.js';
import { LARGE_PAGE_LIMIT, DOCUMENTED_MAX_MESSAGES_PER_PAGE } from '../walk/page-limits.js';
import { type PageRead, PageReader } from '../walk/page-reader.js';
import { type PageRequest, requestForLastPage } from '../walk/page-tail.js';
import { UnreadableMessageFinder } from '../walk/unreadable-message-finder.js';
import { hashAndJoinIds, hasPermanentlyUnreadableMessage } from '../snapshot/poll-state.js';
import type { PollCommitter } from './poll-committer.js';
import { type PollStart, MESSAGES_REPLACED_REASON } from './poll-start.js';
import { upstreamClockDifferenceMs } from './upstream-clock.js';
import type { FeedSource, LookupReads, ReadPurpose } from '../ports.js';
import type { PagesRead } from '../walk/pages-read.js';

/** Maximum number of pages that are read but not committed while none of them contains a known message. */
const MAX_HELD_PAGES = 50;
/**
 * A read of a contact ends early if this many of its commits in a row are refused, because other reads of the
 * contact were committed first.
 */
export const MAX_COMMIT_CONFLICTS = 5;
/**
 * Maximum number of pages for one read of older messages. If a contact has more pages, upstream is probably faulty.
 */
export const MAX_PAGES = 10_000;

/**
 * If upstream fails to return at least this number of consecutive messages, they are not the cause: upstream is
 * probably down.
 */
const MIN_MESSAGES_OF_OUTAGE = 20;

/** Which contact's pages of messages are read, for which purpose, and how failed pages are retried. */
export interface PagesTask {
  account: string;
  contactId: string;
  purpose: ReadPurpose;
  /**
   * Whether all pages are read (`everything`), or only as many as needed to find all messages whose flags may still
   * change (`unsettled`).
   */
  goal: 'everything' | 'unsettled';
  /**
   * Receives the messages that are read. Present only during a look-up, which searches for the messages of sends.
   */
  lookup?: LookupReads;
  /** Aborts the read after the current page. */
  signal?: AbortSignal;
  /**
   * How long to wait before each retry of a failed page, in milliseconds. If the last retry fails too, the
   * page is read in smaller parts.
   */
  pageRetriesMs: readonly number[];
}

/** Reads pages of a contact's messages. Each page is compared with the snapshot and committed on its own. */
export class CommittingPageReader {
  readonly reader: PageReader;
  /** Order in which upstream is assumed to list the messages of the contact. */
  order: PageOrder;
  /** Largest page limit that upstream honours. Undefined while unknown. */
  limit: number | undefined;
  /** True if upstream failed to answer a request for more messages per page than the documented maximum. */
  refusesLargePages = false;
  /** Polling state of the contact. It is read again before each request for a page. */
  state: ContactState;
  /**
   * True if a committed page contained a message that was not in the snapshot. Reset when the read starts again at
   * page 1.
   */
  foundNew = false;
  /** Snapshots of the known messages on the page that was read last, by message id. */
  private lastKnown: ReadonlyMap<string, KnownMessage> = new Map();
  /** Pages that were read, but are not committed until a page contains a known message. */
  private heldPages: PageRead[] = [];
  private isHoldingBack = false;
  /**
   * Number of elements on the latest page that was not empty, unreadable elements included. Undefined until
   * such a page was read.
   */
  private previousCount: number | undefined;
  /** Number of elements on the latest pages, if none of them contained a readable message. */
  private unreadableInARow = 0;
  /** Number of the page that was last retried, whether a retry succeeded or not. */
  private retriedPage: number | undefined;

  constructor(
    private readonly store: FeedStore,
    source: FeedSource,
    private readonly committer: PollCommitter,
    private readonly task: PagesTask,
    state: ContactState,
  ) {
    const { account, contactId, purpose } = task;
    this.state = state;
    this.order = state.pollState.order;
    this.limit =
      state.pollState.limit ??
      (state.longestPage > DOCUMENTED_MAX_MESSAGES_PER_PAGE ? LARGE_PAGE_LIMIT : undefined);
    this.reader = new PageReader(
      (page, limit) => source.listMessages(account, contactId, page, limit, purpose),
      async (ids) => {
        this.lastKnown = await store.knownMessages(account, contactId, ids);
        return new Set(this.lastKnown.keys());
      },
      state.pollState,
    );
  }

  beginPass(): void {
    this.reader.beginPass();
    this.previousCount = undefined;
    this.foundNew = false;
  }

  /**
   * From now on, commits no page until a page contains a known message. If no page contains one, upstream returns a
   * different list than before, and the contact needs a new baseline. Has no effect if the contact has only a few
   * known messages.
   * @param known number of known messages
   */
  holdBack(known: number): void {
    this.isHoldingBack = isOutageMoreLikelyThanDeletions(known, known);
  }

  /**
   * True if pages with messages wait for their commit, because no page so far contained a known message.
   */
  get showsOtherMessages(): boolean {
    return this.heldPages.some(({ ids }) => ids.length > 0);
  }

  /** Must be called if upstream failed to answer a request with the large limit, before the pages are read without it. */
  noteLargePagesRefused(): void {
    this.refusesLargePages = true;
    this.limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
  }

  /** Returns the request for the last page of an oldest-first list of `length` messages. */
  requestForLastPage(length: number): PageRequest {
    return requestForLastPage(length, this.reader.pageSize, this.state.extension.ignoresLimit === true);
  }

  isStopped(): boolean {
    return this.task.signal?.aborted === true;
  }

  /**
   * Reads a page and commits the result. If another read of the contact was committed meanwhile, reads the
   * page again. A page that fails is retried after a delay. If the retries fail too, the page is read in
   * smaller parts.
   *
   * The stored state is read before each request, so that a page is never compared with snapshots that are
   * newer than the request.
   * @param limit number of messages per page
   * @returns the page; undefined if {@link refreshState} returned false, the read was aborted between two parts of the
   * page, or {@link MAX_COMMIT_CONFLICTS} commits in a row were refused
   * @throws the error of the page if the read was aborted before a retry
   */
  async take(page: number, limit: number): Promise<PageRead | undefined> {
    const read = await this.tryPage(page, limit);
    return read instanceof FailedPageRead ? this.takeParts(page, limit, read) : read;
  }

  /**
   * Reads a page like {@link take}. If all attempts fail, returns a {@link FailedPageRead} instead of reading the
   * page in parts.
   */
  async tryPage(page: number, limit: number): Promise<PageRead | FailedPageRead | undefined> {
    // If an earlier read found a message that upstream fails to return, this message probably makes the page fail.
    // The page is then not retried, because retries would fail too.
    const isPatient = !this.wasRetried(page) && !hasPermanentlyUnreadableMessage(this.state.pollState);
    const retries = isPatient ? [...this.task.pageRetriesMs] : [];
    for (let races = 0; races < MAX_COMMIT_CONFLICTS;) {
      if (!(await this.refreshState())) return undefined;
      let read: PageRead;
      try {
        read = await this.reader.takeWhole(page, limit);
      } catch (error) {
        if (limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE && mayBeCausedByPageSize(error)) throw error;
        const waitMs = retries.shift();
        if (waitMs === undefined || !isTransient(error)) return new FailedPageRead(error);
        this.retriedPage = page;
        await pause(waitMs, this.task.signal);
        if (this.isStopped()) throw error;
        continue;
      }
      if (await this.commitPage(page, read)) {
        this.noteCounts(read);
        return read;
      }
      this.reader.undoLastPage();
      races += 1;
    }
    return undefined;
  }

  /**
   * Reads the stored state of the contact again. Returns false if the contact is unknown, or if what this read has
   * committed so far may no longer be stored: the state was lost, another Redis run began, or another read took a new
   * baseline.
   */
  async refreshState(): Promise<boolean> {
    const state = await this.store.contactState(this.task.account, this.task.contactId);
    if (state === undefined || state.lost) return false;
    // Each new baseline raises the revision floor.
    const { redisRun, pollState } = this.state;
    if (state.redisRun !== redisRun || state.pollState.revisionFloor !== pollState.revisionFloor)
      return false;
    this.state = state;
    this.lastKnown = new Map();
    return true;
  }

  /**
   * Reads a page that upstream fails to return because of one of its messages. Requests smaller and smaller
   * parts of the page to find and skip this message, and commits each part on its own.
   * @throws the failure of the page if no message of the page can be read, because then the cause is not a
   * single message; for pages that were requested with a limit below the documented one, only after several of them
   */
  async takeParts(page: number, limit: number, { failure }: FailedPageRead): Promise<PageRead | undefined> {
    if (!mayBeCausedBySingleMessage(failure)) throw failure;
    const size = page === 1 && !this.isCapped(limit) ? limit : this.sizeOf(limit);
    const search = new UnreadableMessageFinder({ page, limit: size });
    const parts: PageRead[] = [];
    for (let part = search.next(); part !== undefined; part = search.next()) {
      const read = await this.takePart(part, search);
      if (read === undefined) return undefined;
      if (read !== 'smaller') parts.push(read);
    }
    const whole = this.reader.joined(parts, limit);
    this.noteCounts(whole);
    const isOutage =
      limit === DOCUMENTED_MAX_MESSAGES_PER_PAGE || this.unreadableInARow >= MIN_MESSAGES_OF_OUTAGE;
    if (whole.ids.length === 0 && isOutage) throw failure;
    return whole;
  }

  private noteCounts({ ids, count }: PageRead): void {
    if (count > 0) this.previousCount = count;
    this.unreadableInARow = ids.length > 0 ? 0 : this.unreadableInARow + count;
  }

  /**
   * Estimates how many messages a failed page contains: as many as the previous page that was not empty, but at most
   * `limit`. If there is no such page, the longest page of the contact is used instead.
   */
  private sizeOf(limit: number): number {
    return Math.min(limit, this.previousCount ?? this.reader.pageSize);
  }

  /**
   * Returns true if the contact has more messages than its longest page. In that case, upstream returns at most as
   * many messages as on that page if the documented limit is requested. Always returns false for the large limit.
   */
  private isCapped(limit: number): boolean {
    return limit === DOCUMENTED_MAX_MESSAGES_PER_PAGE && this.state.pollState.length > this.reader.pageSize;
  }

  private async takePart(
    { page, limit }: PageRequest,
    search: UnreadableMessageFinder,
  ): Promise<PageRead | 'smaller' | undefined> {
    for (let race = 0; race < MAX_COMMIT_CONFLICTS; race += 1) {
      if (this.isStopped() || !(await this.refreshState())) return undefined;
      let read: PageRead;
      let isShown = true;
      try {
        read = await this.reader.takeWhole(page, limit);
      } catch (error) {
        if (!mayBeCausedBySingleMessage(error)) throw error;
        if (limit > 1) {
          search.failed();
          return 'smaller';
        }
        read = this.reader.skippedMessage();
        isShown = false;
      }
      if (await this.commitPage(page, read)) {
        if (isShown) search.succeeded();
        else search.failed();
        return read;
      }
      this.reader.undoLastPage();
    }
    return undefined;
  }

  private async commitPage(page: number, read: PageRead): Promise<boolean> {
    const isEmpty = read.ids.length === 0 && this.reader.unreadable.size === 0;
    if (isEmpty && this.heldPages.length === 0) return true;
    const known = await this.snapshotsOf(read);
    if (this.isHoldingBack) {
      if (known.size === 0 && this.heldPages.length < MAX_HELD_PAGES) {
        this.heldPages.push(read);
        return true;
      }
      this.isHoldingBack = false;
    }
    // The pages that wait for their commit may contain messages that another read has committed meanwhile.
    // These messages are left out, because the other read may be newer.
    const held = this.heldPages.flatMap(({ items }) => items).filter(({ id }) => !known.has(id));
    // A message may be on several of the pages that are committed now. Only the latest form of the message is
    // used.
    const served = [...new Map([...held, ...read.items].map((item) => [item.id, item])).values()];
    const isNew = served.some(({ id }) => !known.has(id));
    const reading = {
      ...this.readingOf(served),
      ...this.newHead(page, read, known),
      detectsVolatility: page === 1,
    };
    const done = await this.committer.commit(this.startOf(), reading, known, 'page');
    if (!done) return false;
    this.heldPages = [];
    this.foundNew ||= isNew;
    this.reader.release();
    return true;
  }

  /** Returns what is stored of the messages on this page and on the earlier pages that are not committed yet. */
  private async snapshotsOf({ ids, newIds }: PageRead): Promise<ReadonlyMap<string, KnownMessage>> {
    const isLookedUp = ids.every((id) => this.lastKnown.has(id) || newIds.includes(id));
    if (isLookedUp && this.heldPages.length === 0) return this.lastKnown;
    const all = new Set([...this.heldPages.flatMap((held) => held.ids), ...ids]);
    return this.store.knownMessages(this.task.account, this.task.contactId, [...all]);
  }

  /**
   * Returns the ids on page 1, which are stored as the new head of the contact. If messages of the stored head have
   * disappeared, the result also requests a read of all pages, because later reads compare only with the new head
   * and would not notice that these messages are missing. If the current read covers all pages, no further read is
   * requested. Returns an empty object for another page, for a request of fewer messages than the documented page
   * size, and for a list that is not newest first.
   */
  private newHead(
    page: number,
    { ids, limit, count }: PageRead,
    known: ReadonlyMap<string, KnownMessage>,
  ): Partial<Pick<PagesRead, 'head' | 'needsFullRead'>> {
    const { order, head: before } = this.state.pollState;
    if (page !== 1 || limit < DOCUMENTED_MAX_MESSAGES_PER_PAGE || order !== 'newestFirst') return {};
    const head = ids.slice(0, DOCUMENTED_MAX_MESSAGES_PER_PAGE);
    if (this.task.goal === 'everything') return { head };
    const shown = hashAndJoinIds(ids.filter((id) => known.has(id)));
    const isWhole = shown.startsWith(before) || (count >= limit && before.startsWith(shown));
    return isWhole ? { head } : { head, needsFullRead: true };
  }

  /**
   * Commits the pages that waited for their commit. They become a new baseline, because upstream returns messages of the
   * contact, but none of the known ones.
   * @returns always false, because a later read must go through all pages again
   */
  async commitHeldPages(): Promise<false> {
    const served = this.heldPages.flatMap(({ items }) => items);
    const start = { ...this.startOf(), resync: MESSAGES_REPLACED_REASON };
    await this.committer.commit(start, this.readingOf(served), new Map(), 'page');
    return false;
  }

  startOf(): PollStart {
    const { account, contactId, lookup } = this.task;
    return { account, contactId, state: this.state, ...(lookup === undefined ? {} : { lookup }) };
  }

  readingOf(served: PagesRead['served']): PagesRead {
    const { reader, limit, order, state } = this;
    return {
      served,
      order: order === 'unsorted' ? order : state.pollState.order,
      length: state.pollState.length,
      ...{ pageSize: reader.pageSize, longestPage: reader.longestPage },
      ...(limit === undefined ? {} : { limit }),
      skipped: reader.skipped,
      unreadable: [...reader.unreadable],
      // The poll report compares `date` with `state.now`. The state is read again before each request, so `date` must
      // be the time of the latest reply, not of an earlier one. The clock difference can be computed from any reply.
      ...(reader.latestReply === undefined ? {} : { date: reader.latestReply.date }),
      ...(reader.firstReply === undefined ? {} : { firstDate: reader.firstReply.date }),
      upstreamAheadMs: upstreamClockDifferenceMs(reader.latestReply ?? reader.firstReply, state),
      detectsVolatility: false,
      unsettledRead: false,
      needsFullRead: false,
    };
  }

  /**
   * Returns true if the last retried page is `page` or next to it. The message that upstream fails to return
   * may have moved to a neighbouring page since the retry.
   */
  wasRetried(page: number): boolean {
    return this.retriedPage !== undefined && Math.abs(page - this.retriedPage) <= 1;
  }
}

/** A page that could not be read, not even by retries, and the error of the last request. */
export class FailedPageRead {
  constructor(readonly failure: unknown) {}
}

/** Returns true if a failed request may succeed when it is repeated a little later. */
function isTransient(error: unknown): boolean {
  if (error instanceof UpstreamStatusError) return error.status >= 500 || error.status === 429;
  return error instanceof UpstreamError && !(error instanceof UpstreamUnavailableError);
}
