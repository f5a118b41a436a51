import { pause } from '#platform';
import { UpstreamError, UpstreamStatusError, UpstreamUnavailableError } from '#upstream';
import { isTooMany } from '../diff/absence.js';
import type { ContactState, FeedStore } from '../feed-store.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import type { PageOrder } from '../walk/page-order.js';
import {
  LARGE_LIMIT,
  mayBeAboutContent,
  mayBeAboutSize,
  PAGE_LIMIT,
  type PageRead,
  PageReader,
} from '../walk/page-reader.js';
import { FAILS } from '../walk/page-reading.js';
import type { Stretch } from '../walk/page-tail.js';
import { PartSearch } from '../walk/part-search.js';
import { markUnreadable } from '../snapshot/poll-memory.js';
import type { PollConclusion, PollStart } from './poll-conclusion.js';
import type { FeedSource, ReadPurpose } from '../ports.js';
import type { Reading } from '../walk/reading.js';

/** So many pages are held back at most, while none of them shows anything that was known. */
const MAX_HELD_PAGES = 50;
/** Another read of the same contact was committed meanwhile, this many times in a row. */
export const MAX_RACES = 5;

/** Whose pages are read, and on whose behalf. */
export interface PagesTask {
  account: string;
  contactId: string;
  purpose: ReadPurpose;
  /** Ends it after the page that is under way. */
  signal?: AbortSignal;
  /** Waits before a page that failed is asked for again, in milliseconds; then it is read in parts. */
  pageRetriesMs: readonly number[];
}

/** A contact's pages, each of which is compared with what is known and committed by itself. */
export class CommittedPages {
  readonly reader: PageReader;
  /** The order that the list is believed to be in. */
  order: PageOrder;
  /** The limit that upstream honours; undefined while that is not known. */
  limit: number | undefined;
  /** What is known of the contact, as of the last page. */
  state: ContactState;
  /** Whether a page of this pass showed something that was not known. */
  foundNew = false;
  /** Known messages of the page that was read last. */
  private lastKnown: ReadonlyMap<string, KnownMessage> = new Map();
  /** Pages that wait to be committed until something known is met. */
  private held: PageRead[] = [];
  private holds = false;
  /** How many elements the page before held. */
  private lastCount: number | undefined;
  /** The page that was asked for again and again, until it could be read, or failed for good. */
  private waitedFor: number | undefined;

  constructor(
    private readonly store: FeedStore,
    source: FeedSource,
    private readonly conclusion: PollConclusion,
    private readonly task: PagesTask,
    state: ContactState,
  ) {
    const { account, contactId, purpose } = task;
    this.state = state;
    this.order = state.memory.order;
    this.limit = state.memory.limit ?? (state.longestPage > PAGE_LIMIT ? LARGE_LIMIT : undefined);
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
    this.lastCount = undefined;
    this.foundNew = false;
  }

  /** Where so many messages are known, pages that show none of them are held back until one does. */
  holdBack(known: number): void {
    this.holds = isTooMany(known, known);
  }

  /** Whether pages were held back to the end: upstream shows other messages than before. */
  get showsOthers(): boolean {
    return this.held.some(({ ids }) => ids.length > 0);
  }

  isStopped(): boolean {
    return this.task.signal?.aborted === true;
  }

  /**
   * Reads a page and commits what it shows; again, if another read of the contact was committed meanwhile. What is known is
   * looked at before each request: a page is never compared with what was committed after it was asked for.
   *
   * A page that fails is asked for again after a while, then in parts. Undefined if the contact is not known any more, or
   * others were always faster.
   */
  async take(page: number, limit: number): Promise<PageRead | undefined> {
    const read = await this.tryPage(page, limit);
    return read instanceof FailedPage ? this.takeParts(page, limit, read) : read;
  }

  /** {@link take}, but for the parts. */
  async tryPage(page: number, limit: number): Promise<PageRead | FailedPage | undefined> {
    const isPatient = !this.wasWaitedFor(page) && !this.failedBefore();
    const retries = isPatient ? [...this.task.pageRetriesMs] : [];
    for (let races = 0; races < MAX_RACES;) {
      if (!(await this.look())) return undefined;
      let read: PageRead;
      try {
        read = await this.reader.takePlain(page, limit);
      } catch (error) {
        if (limit > PAGE_LIMIT && mayBeAboutSize(error)) throw error;
        const waitMs = retries.shift();
        if (waitMs === undefined || !isTransient(error)) return new FailedPage(error);
        this.waitedFor = page;
        await pause(waitMs, this.task.signal);
        if (this.isStopped()) throw error;
        continue;
      }
      if (await this.commitPage(page, read)) {
        if (read.count > 0) this.lastCount = read.count;
        return read;
      }
      this.reader.takeBack();
      races += 1;
    }
    return undefined;
  }

  /** Whether the contact is known; what of it is, from now on. */
  private async look(): Promise<boolean> {
    const state = await this.store.contactState(this.task.account, this.task.contactId);
    if (state === undefined || state.lost) return false;
    this.state = state;
    this.lastKnown = new Map();
    return true;
  }

  /**
   * A page that fails, because of one of its messages, in smaller and smaller parts, each committed by itself.
   * @throws what it failed with, if not one of its messages can be read: then it is not one of them that is to blame
   */
  async takeParts(page: number, limit: number, { failure }: FailedPage): Promise<PageRead | undefined> {
    if (!mayBeAboutContent(failure)) throw failure;
    const size = page === 1 && !this.knowsCap(limit) ? limit : this.sizeOf(limit);
    const search = new PartSearch({ page, limit: size });
    const parts: PageRead[] = [];
    for (let part = search.next(); part !== undefined; part = search.next()) {
      const read = await this.takePart(part, search);
      if (read === undefined) return undefined;
      if (read !== 'smaller') parts.push(read);
    }
    const whole = this.reader.joined(parts, limit);
    if (whole.count > 0) this.lastCount = whole.count;
    if (whole.ids.length === 0 && limit === PAGE_LIMIT) throw failure;
    return whole;
  }

  /** A page covers what upstream's cap lets it, which its parts must not reach beyond. */
  private sizeOf(limit: number): number {
    return Math.min(limit, this.lastCount ?? this.reader.pageSize);
  }

  /** Whether the contact has more messages than its longest page: then all its pages are as long as that at most. */
  private knowsCap(limit: number): boolean {
    return limit === PAGE_LIMIT && this.state.memory.length > this.reader.pageSize;
  }

  private async takePart(
    { page, limit }: Stretch,
    search: PartSearch,
  ): Promise<PageRead | 'smaller' | undefined> {
    for (let race = 0; race < MAX_RACES; race += 1) {
      if (this.isStopped() || !(await this.look())) return undefined;
      let read: PageRead;
      let isShown = true;
      try {
        read = await this.reader.takePlain(page, limit);
      } catch (error) {
        if (!mayBeAboutContent(error)) throw error;
        if (limit > 1) {
          search.failed();
          return 'smaller';
        }
        read = this.reader.unshown();
        isShown = false;
      }
      if (await this.commitPage(page, read)) {
        if (isShown) search.succeeded();
        else search.failed();
        return read;
      }
      this.reader.takeBack();
    }
    return undefined;
  }

  private async commitPage(page: number, read: PageRead): Promise<boolean> {
    const isEmpty = read.ids.length === 0 && this.reader.unreadable.size === 0;
    if (isEmpty && this.held.length === 0) return true;
    const known = await this.knownNow(read);
    if (this.holds) {
      if (known.size === 0 && this.held.length < MAX_HELD_PAGES) {
        this.held.push(read);
        return true;
      }
      this.holds = false;
    }
    // What others committed while it was held is not compared: they may have read it later.
    const held = this.held.flatMap(({ items }) => items).filter(({ id }) => !known.has(id));
    // Each message once, in its latest form: what is held may have been read again.
    const served = [...new Map([...held, ...read.items].map((item) => [item.id, item])).values()];
    const isNew = served.some(({ id }) => !known.has(id));
    const reading = { ...this.readingOf(served), ...this.headOn(page, read), learns: page === 1 };
    const done = await this.conclusion.commit(this.startOf(), reading, known, 'page');
    if (!done) return false;
    this.held = [];
    this.foundNew ||= isNew;
    this.reader.release();
    return true;
  }

  /** What is known of the messages of this page and of those that are held. */
  private async knownNow({ ids, fresh }: PageRead): Promise<ReadonlyMap<string, KnownMessage>> {
    const isLookedUp = ids.every((id) => this.lastKnown.has(id) || fresh.includes(id));
    if (isLookedUp && this.held.length === 0) return this.lastKnown;
    const all = new Set([...this.held.flatMap((held) => held.ids), ...ids]);
    return this.store.knownMessages(this.task.account, this.task.contactId, [...all]);
  }

  /** Where the newest come first, page 1 is the head: the next poll of it is to find there what is known from now on. */
  private headOn(page: number, { ids, limit }: PageRead): Pick<Reading, 'head'> {
    const isHead = page === 1 && limit >= PAGE_LIMIT && this.state.memory.order === 'newestFirst';
    return isHead ? { head: ids.slice(0, PAGE_LIMIT) } : {};
  }

  /**
   * Nothing that was known is there any more, and something else is: from now on that is what is known, and everything is to
   * be read once more.
   */
  async takeNewBaseline(): Promise<false> {
    const served = this.held.flatMap(({ items }) => items);
    const resync = 'upstream shows other messages than before';
    const start = { ...this.startOf(), resync };
    await this.conclusion.commit(start, this.readingOf(served), new Map(), 'page');
    return false;
  }

  startOf(): PollStart {
    const { account, contactId } = this.task;
    return { account, contactId, state: this.state };
  }

  readingOf(served: Reading['served']): Reading {
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
      learns: false,
      looked: false,
      needsEverything: false,
    };
  }

  /** Whether this page was waited for; what makes it fail may have moved by one since. */
  wasWaitedFor(page: number): boolean {
    return this.waitedFor !== undefined && Math.abs(page - this.waitedFor) <= 1;
  }

  /** Whether a message that upstream fails to show was met before: then to wait for it is no use. */
  private failedBefore(): boolean {
    return markUnreadable(this.state.memory.unreadable, [FAILS]).fresh === 0;
  }
}

/** A page that failed also when it was asked for again. */
export class FailedPage {
  constructor(readonly failure: unknown) {}
}

/** Whether the same request may succeed a little later. */
function isTransient(error: unknown): boolean {
  if (error instanceof UpstreamStatusError) return error.status >= 500 || error.status === 429;
  return error instanceof UpstreamError && !(error instanceof UpstreamUnavailableError);
}
