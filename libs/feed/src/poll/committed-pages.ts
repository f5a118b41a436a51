import { pause } from '#platform';
import { UpstreamError, UpstreamStatusError, UpstreamUnavailableError } from '#upstream';
import { suggestsOutage } from '../diff/absence.js';
import type { ContactState, FeedStore } from '../feed-store.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import type { PageOrder } from '../walk/page-order.js';
import {
  LARGE_PAGE_LIMIT,
  mayBeCausedByMessage,
  mayBeCausedBySize,
  PAGE_LIMIT,
  type PageRead,
  PageReader,
} from '../walk/page-reader.js';
import { FAILING_MESSAGE } from '../walk/read-in-parts.js';
import type { PageRequest } from '../walk/page-tail.js';
import { PartSearch } from '../walk/part-search.js';
import { addUnreadable } from '../snapshot/poll-memory.js';
import type { PollCommitter, PollStart } from './poll-committer.js';
import type { FeedSource, ReadPurpose } from '../ports.js';
import type { PagesRead } from '../walk/pages-read.js';

/** Maximum number of pages that wait for their commit while none of them contains a known message. */
const MAX_HELD_PAGES = 50;
/** Maximum number of consecutive commits refused because another read of the contact was committed first. */
export const MAX_COMMIT_CONFLICTS = 5;

/** The contact whose pages are read, and the context of the read. */
export interface PagesTask {
  account: string;
  contactId: string;
  purpose: ReadPurpose;
  /** Aborts the read after the current page. */
  signal?: AbortSignal;
  /**
   * Delays before the retries of a failed page, in milliseconds; after the last retry the page is read in
   * parts.
   */
  pageRetriesMs: readonly number[];
}

/** Reads pages of a contact; compares each page with the snapshot and commits it separately. */
export class CommittedPages {
  readonly reader: PageReader;
  /** Assumed order of the message list. */
  order: PageOrder;
  /** Page limit that upstream honours; undefined while unknown. */
  limit: number | undefined;
  /** Polling state of the contact, read before the last page was requested. */
  state: ContactState;
  /** True if a page since the last start at page 1 contained a message that was not known. */
  foundNew = false;
  /** Snapshots of the known messages on the last page. */
  private lastKnown: ReadonlyMap<string, KnownMessage> = new Map();
  /** Pages that are not committed until a page contains a known message. */
  private heldPages: PageRead[] = [];
  private isHoldingBack = false;
  /** Number of elements on the previous page. */
  private previousCount: number | undefined;
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
    this.order = state.memory.order;
    this.limit = state.memory.limit ?? (state.longestPage > PAGE_LIMIT ? LARGE_PAGE_LIMIT : undefined);
    this.reader = new PageReader(
      (page, limit) => source.listMessages(account, contactId, page, limit, purpose),
      async (ids) => {
        this.lastKnown = await store.knownMessages(account, contactId, ids);
        return new Set(this.lastKnown.keys());
      },
      state.memory,
    );
  }

  beginPass(): void {
    this.reader.beginPass();
    this.previousCount = undefined;
    this.foundNew = false;
  }

  /**
   * Holds pages back until one contains a known message, if `known` (number of known messages) is large enough.
   */
  holdBack(known: number): void {
    this.isHoldingBack = suggestsOutage(known, known);
  }

  /** True if no page of the list contained a known message, so that no page was committed. */
  get showsOtherMessages(): boolean {
    return this.heldPages.some(({ ids }) => ids.length > 0);
  }

  isStopped(): boolean {
    return this.task.signal?.aborted === true;
  }

  /**
   * Reads a page and commits the result. If another read of the contact was committed meanwhile, reads the page
   * again. The state is read before each request: a page is never compared with snapshots that are newer than
   * the request.
   *
   * Retries a failed page after a delay, then reads the page in parts.
   * @returns undefined if the contact is unknown or {@link MAX_COMMIT_CONFLICTS} commits were refused in a row
   */
  async take(page: number, limit: number): Promise<PageRead | undefined> {
    const read = await this.tryPage(page, limit);
    return read instanceof FailedPage ? this.takeParts(page, limit, read) : read;
  }

  /** Reads a page like {@link take}, but returns a {@link FailedPage} instead of reading the page in parts. */
  async tryPage(page: number, limit: number): Promise<PageRead | FailedPage | undefined> {
    const isPatient = !this.wasRetried(page) && !this.hasFailingMessage();
    const retries = isPatient ? [...this.task.pageRetriesMs] : [];
    for (let races = 0; races < MAX_COMMIT_CONFLICTS;) {
      if (!(await this.refreshState())) return undefined;
      let read: PageRead;
      try {
        read = await this.reader.takeWhole(page, limit);
      } catch (error) {
        if (limit > PAGE_LIMIT && mayBeCausedBySize(error)) throw error;
        const waitMs = retries.shift();
        if (waitMs === undefined || !isTransient(error)) return new FailedPage(error);
        this.retriedPage = page;
        await pause(waitMs, this.task.signal);
        if (this.isStopped()) throw error;
        continue;
      }
      if (await this.commitPage(page, read)) {
        if (read.count > 0) this.previousCount = read.count;
        return read;
      }
      this.reader.undoLastPage();
      races += 1;
    }
    return undefined;
  }

  /** Reads the current state of the contact. Returns false if the contact is unknown or its record was lost. */
  private async refreshState(): Promise<boolean> {
    const state = await this.store.contactState(this.task.account, this.task.contactId);
    if (state === undefined || state.lost) return false;
    this.state = state;
    this.lastKnown = new Map();
    return true;
  }

  /**
   * Reads a page that fails because of one of its messages: in smaller and smaller parts, each committed
   * separately.
   * @throws the failure of the page if no message of the page can be read: then the cause is not a single
   * message
   */
  async takeParts(page: number, limit: number, { failure }: FailedPage): Promise<PageRead | undefined> {
    if (!mayBeCausedByMessage(failure)) throw failure;
    const size = page === 1 && !this.isCapped(limit) ? limit : this.sizeOf(limit);
    const search = new PartSearch({ page, limit: size });
    const parts: PageRead[] = [];
    for (let part = search.next(); part !== undefined; part = search.next()) {
      const read = await this.takePart(part, search);
      if (read === undefined) return undefined;
      if (read !== 'smaller') parts.push(read);
    }
    const whole = this.reader.joined(parts, limit);
    if (whole.count > 0) this.previousCount = whole.count;
    if (whole.ids.length === 0 && limit === PAGE_LIMIT) throw failure;
    return whole;
  }

  /** Returns the number of messages on a page. Parts must not reach beyond a page that upstream caps. */
  private sizeOf(limit: number): number {
    return Math.min(limit, this.previousCount ?? this.reader.pageSize);
  }

  /** Returns true if upstream caps pages below `limit`: the contact has more messages than its longest page. */
  private isCapped(limit: number): boolean {
    return limit === PAGE_LIMIT && this.state.memory.length > this.reader.pageSize;
  }

  private async takePart(
    { page, limit }: PageRequest,
    search: PartSearch,
  ): Promise<PageRead | 'smaller' | undefined> {
    for (let race = 0; race < MAX_COMMIT_CONFLICTS; race += 1) {
      if (this.isStopped() || !(await this.refreshState())) return undefined;
      let read: PageRead;
      let isShown = true;
      try {
        read = await this.reader.takeWhole(page, limit);
      } catch (error) {
        if (!mayBeCausedByMessage(error)) throw error;
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
    // Messages that another read committed while a page waited are skipped: that read may be newer than the
    // page.
    const held = this.heldPages.flatMap(({ items }) => items).filter(({ id }) => !known.has(id));
    // Each message counts once, in its latest form: a message of a waiting page may have been read again.
    const served = [...new Map([...held, ...read.items].map((item) => [item.id, item])).values()];
    const isNew = served.some(({ id }) => !known.has(id));
    const reading = { ...this.readingOf(served), ...this.newHead(page, read), detectsVolatility: page === 1 };
    const done = await this.committer.commit(this.startOf(), reading, known, 'page');
    if (!done) return false;
    this.heldPages = [];
    this.foundNew ||= isNew;
    this.reader.release();
    return true;
  }

  /** Returns the snapshots of the messages on this page and on the pages that wait for their commit. */
  private async snapshotsOf({ ids, newIds }: PageRead): Promise<ReadonlyMap<string, KnownMessage>> {
    const isLookedUp = ids.every((id) => this.lastKnown.has(id) || newIds.includes(id));
    if (isLookedUp && this.heldPages.length === 0) return this.lastKnown;
    const all = new Set([...this.heldPages.flatMap((held) => held.ids), ...ids]);
    return this.store.knownMessages(this.task.account, this.task.contactId, [...all]);
  }

  /**
   * Returns the ids of page 1 as the new head if page 1 was read as the head: the next poll compares with them.
   */
  private newHead(page: number, { ids, limit }: PageRead): Pick<PagesRead, 'head'> {
    const isHead = page === 1 && limit >= PAGE_LIMIT && this.state.memory.order === 'newestFirst';
    return isHead ? { head: ids.slice(0, PAGE_LIMIT) } : {};
  }

  /**
   * Commits a new baseline: upstream shows none of the known messages but others. The pages that waited for
   * their commit become the new snapshot, and another read of all pages follows.
   */
  async startNewBaseline(): Promise<false> {
    const served = this.heldPages.flatMap(({ items }) => items);
    const resync = 'upstream shows other messages than before';
    const start = { ...this.startOf(), resync };
    await this.committer.commit(start, this.readingOf(served), new Map(), 'page');
    return false;
  }

  startOf(): PollStart {
    const { account, contactId } = this.task;
    return { account, contactId, state: this.state };
  }

  readingOf(served: PagesRead['served']): PagesRead {
    const { reader, limit, order, state } = this;
    return {
      served,
      order: order === 'unsorted' ? order : state.memory.order,
      length: state.memory.length,
      ...{ pageSize: reader.pageSize, longestPage: reader.longestPage },
      ...(limit === undefined ? {} : { limit }),
      skipped: reader.skipped,
      unreadable: [...reader.unreadable],
      ...(reader.date === undefined ? {} : { date: reader.date }),
      detectsVolatility: false,
      unsettledLookedUp: false,
      needsFullRead: false,
    };
  }

  /** Returns true if this page or a neighbour was retried: the failing message may have moved by one page. */
  wasRetried(page: number): boolean {
    return this.retriedPage !== undefined && Math.abs(page - this.retriedPage) <= 1;
  }

  /**
   * Returns true if the contact is known to have a message that upstream fails to show: then retries are
   * useless.
   */
  private hasFailingMessage(): boolean {
    return addUnreadable(this.state.memory.unreadable, [FAILING_MESSAGE]).added === 0;
  }
}

/** Failure of a page after all retries. */
export class FailedPage {
  constructor(readonly failure: unknown) {}
}

/** Returns true if the same request may succeed a little later. */
function isTransient(error: unknown): boolean {
  if (error instanceof UpstreamStatusError) return error.status >= 500 || error.status === 429;
  return error instanceof UpstreamError && !(error instanceof UpstreamUnavailableError);
}
