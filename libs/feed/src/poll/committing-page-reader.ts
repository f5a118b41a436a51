import { pause } from '#platform';
import { UpstreamError, UpstreamStatusError, UpstreamUnavailableError } from '#upstream';
import type { FeedStore } from '../feed-store.js';
import type { PageOrder } from '../walk/page-order.js';
import { mayBeCausedBySingleMessage, mayBeCausedByPageSize } from '../walk/page-errors.js';
import { LARGE_PAGE_LIMIT, DOCUMENTED_MAX_MESSAGES_PER_PAGE } from '../walk/page-limits.js';
import { type PageRead, PageReader } from '../walk/page-reader.js';
import { type PageRequest, requestForLastPage } from '../walk/page-tail.js';
import { UnreadableMessageFinder } from '../walk/unreadable-message-finder.js';
import { hasPermanentlyUnreadableMessage } from '../snapshot/poll-state.js';
import type { PageCommitter, PageCommitterTask } from './page-committer.js';
import { upstreamClockDifferenceMs } from './upstream-clock.js';
import type { FeedSource, ReadPurpose } from '../ports.js';
import type { PagesRead } from '../walk/pages-read.js';

/**
 * A read of a contact ends early if this many of its commits in a row are refused, usually because other reads of the
 * contact were committed first.
 */
export const MAX_COMMIT_CONFLICTS = 5;
/**
 * Maximum number of pages in one pass through a contact's list. If a list seems to have more pages, upstream is
 * probably faulty.
 */
export const MAX_PAGES_PER_DEEP_READ = 10_000;

/**
 * If none of at least this number of consecutive messages can be read, the cause is not a single message: upstream is
 * probably down.
 */
const MIN_MESSAGES_OF_OUTAGE = 20;

/** Which contact's pages of messages are read, for which purpose, and how failed pages are retried. */
export interface PagesTask extends PageCommitterTask {
  purpose: ReadPurpose;
  /** Aborts the read after the current page, or before the next retry or the next part of a failed page. */
  signal?: AbortSignal;
  /**
   * How long to wait before each retry of a failed page, in milliseconds. If the last retry fails too, the
   * page is read in smaller parts.
   */
  pageRetriesMs: readonly number[];
}

/** Reads pages of a contact's messages, and retries those that fail. Each page is committed on its own. */
export class CommittingPageReader {
  readonly reader: PageReader;
  /** Order in which upstream is assumed to list the messages of the contact. */
  order: PageOrder;
  /**
   * Largest page limit that upstream is known or expected to honour; 20 if it honours no larger limit. Undefined
   * while unknown.
   */
  limit: number | undefined;
  /** True if a request with the large limit has failed, perhaps because the page was too large. */
  refusesLargePages = false;
  /**
   * Number of elements on the latest page that was not empty, unreadable elements included. Undefined until the
   * current pass has read such a page.
   */
  private previousCount: number | undefined;
  /**
   * Total number of elements on the latest consecutive pages without a readable message; 0 if the latest page
   * contains one.
   */
  private unreadableInARow = 0;
  /**
   * Page number of the page that was last retried, whether a retry succeeded or not. Undefined before the first
   * retry.
   */
  private retriedPage: number | undefined;

  constructor(
    upstream: Pick<FeedSource, 'listMessages'>,
    store: Pick<FeedStore, 'knownMessages'>,
    private readonly commits: PageCommitter,
    private readonly task: PagesTask,
  ) {
    const { account, contactId, purpose } = task;
    const { state } = commits;
    this.order = state.pollState.order;
    this.limit =
      state.pollState.limit ??
      (state.longestPage > DOCUMENTED_MAX_MESSAGES_PER_PAGE ? LARGE_PAGE_LIMIT : undefined);
    const { pageSize } = state.pollState;
    this.reader = new PageReader({ account, contactId, purpose, upstream, store }, pageSize);
  }

  beginPass(): void {
    this.reader.beginPass();
    this.previousCount = undefined;
    this.commits.foundNew = false;
  }

  /**
   * Must be called if a request with the large limit has failed, perhaps because the page was too large. From then
   * on, {@link limit} is the documented limit.
   */
  noteLargePagesRefused(): void {
    this.refusesLargePages = true;
    this.limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
  }

  /** Returns the request for the last page of an oldest-first list of `length` messages. */
  requestForLastPage(length: number): PageRequest {
    return requestForLastPage(
      length,
      this.reader.pageSize,
      this.commits.state.extension.ignoresLimit === true,
    );
  }

  isStopped(): boolean {
    return this.task.signal?.aborted === true;
  }

  /**
   * Reads a page and commits the result. If another read of the contact was committed meanwhile, reads the page
   * again. A page that fails is retried after a delay. If the retries fail too, the page is read in smaller parts.
   *
   * The stored state is read before each request, so that a page is never compared with snapshots that are newer than
   * the request.
   * @param limit maximum number of messages on the page
   * @returns the page; undefined if {@link PageCommitter.refreshState} returned false, the read was aborted before a
   * part of the page, or {@link MAX_COMMIT_CONFLICTS} commits in a row were refused
   * @throws the error of the page if the read was aborted before a retry, if the page was requested with the large
   * limit and may be too large, or if {@link readPageInParts} throws it
   */
  async readPage(page: number, limit: number): Promise<PageRead | undefined> {
    const read = await this.tryPage(page, limit);
    return read instanceof FailedPageRead ? this.readPageInParts(page, limit, read) : read;
  }

  /**
   * Reads a page like {@link readPage}. If all attempts fail, returns a {@link FailedPageRead} instead of reading the
   * page in parts.
   */
  async tryPage(page: number, limit: number): Promise<PageRead | FailedPageRead | undefined> {
    // No retries if this page or a page next to it was the last to be retried, or if an earlier read found a message
    // that upstream fails to return: that message probably makes the page fail, so retries would fail too.
    const isPatient =
      !this.wasRetried(page) && !hasPermanentlyUnreadableMessage(this.commits.state.pollState);
    const retries = isPatient ? [...this.task.pageRetriesMs] : [];
    for (let races = 0; races < MAX_COMMIT_CONFLICTS;) {
      if (!(await this.commits.refreshState())) return undefined;
      let read: PageRead;
      try {
        read = await this.reader.readPageOrThrow(page, limit);
      } catch (error) {
        if (limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE && mayBeCausedByPageSize(error)) throw error;
        const waitMs = retries.shift();
        if (waitMs === undefined || !isTransient(error)) return new FailedPageRead(error);
        this.retriedPage = page;
        await pause(waitMs, this.task.signal);
        if (this.isStopped()) throw error;
        continue;
      }
      if (await this.commit(page, read)) {
        this.noteCounts(read);
        return read;
      }
      this.reader.undoLastPage();
      races += 1;
    }
    return undefined;
  }

  /**
   * Reads a page that upstream fails to return, perhaps because of one of its messages. Requests smaller and smaller
   * parts of the page to find and skip this message, and commits each part on its own.
   * @returns the page; undefined in the same cases as for {@link readPage}
   * @throws the failure of the page if it is an error that no single message can cause, or if no message of the page
   * can be read. With a limit below the documented one, the second case requires at least
   * {@link MIN_MESSAGES_OF_OUTAGE} consecutive unreadable elements
   */
  async readPageInParts(
    page: number,
    limit: number,
    { failure }: FailedPageRead,
  ): Promise<PageRead | undefined> {
    if (!mayBeCausedBySingleMessage(failure)) throw failure;
    const size = page === 1 && !this.isCapped(limit) ? limit : this.sizeOf(limit);
    const search = new UnreadableMessageFinder({ page, limit: size });
    const parts: PageRead[] = [];
    for (let part = search.next(); part !== undefined; part = search.next()) {
      const read = await this.readPart(part, search);
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
   * Returns true if `limit` is the documented limit and the contact has more messages than its longest page. Upstream
   * then returns at most as many messages per page as the longest page has.
   */
  private isCapped(limit: number): boolean {
    return (
      limit === DOCUMENTED_MAX_MESSAGES_PER_PAGE && this.commits.state.pollState.length > this.reader.pageSize
    );
  }

  /**
   * Reads one part of a failed page, and commits it. Returns the part; if the part is one message that upstream fails
   * to return, it contains an unreadable element instead. Returns `smaller` if the part failed and must be read in
   * smaller parts; undefined if the read must end.
   */
  private async readPart(
    { page, limit }: PageRequest,
    search: UnreadableMessageFinder,
  ): Promise<PageRead | 'smaller' | undefined> {
    for (let race = 0; race < MAX_COMMIT_CONFLICTS; race += 1) {
      if (this.isStopped() || !(await this.commits.refreshState())) return undefined;
      let read: PageRead;
      let isShown = true;
      try {
        read = await this.reader.readPageOrThrow(page, limit);
      } catch (error) {
        if (!mayBeCausedBySingleMessage(error)) throw error;
        if (limit > 1) {
          search.failed();
          return 'smaller';
        }
        read = this.reader.skippedMessage();
        isShown = false;
      }
      if (await this.commit(page, read)) {
        if (isShown) search.succeeded();
        else search.failed();
        return read;
      }
      this.reader.undoLastPage();
    }
    return undefined;
  }

  private async commit(page: number, read: PageRead): Promise<boolean> {
    const outcome = await this.commits.commit(page, read, this.reading());
    if (outcome === 'committed') this.reader.release();
    return outcome !== 'refused';
  }

  /**
   * Returns what is known of the list after the pages so far, without their messages. The order (unless these pages
   * are unsorted) and the length are those of the stored state.
   */
  reading(): PagesRead {
    const { reader, limit, order } = this;
    const { firstReply, latestReply } = reader.requests;
    const { state } = this.commits;
    return {
      served: [],
      order: order === 'unsorted' ? order : state.pollState.order,
      length: state.pollState.length,
      ...{ pageSize: reader.pageSize, longestPage: reader.longestPage },
      ...(limit === undefined ? {} : { limit }),
      skipped: reader.skipped,
      unreadable: [...reader.unreadable],
      // The poll report compares `date` with `state.now`. The state is read again before each request, so `date` must
      // be the time of the latest reply, not of an earlier one. The clock difference can be computed from any reply.
      ...(latestReply === undefined ? {} : { date: latestReply.date }),
      ...(firstReply === undefined ? {} : { firstDate: firstReply.date }),
      upstreamAheadMs: upstreamClockDifferenceMs(latestReply ?? firstReply, state),
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
