import { pause } from '#platform';
import { UpstreamError, UpstreamStatusError, UpstreamUnavailableError } from '#upstream';
import { isTooMany } from './absence.js';
import type { ContactState, FeedStore } from './feed-store.js';
import { contradicts, MAX_UNREADABLE_PAGES } from './head-walk.js';
import { isUnsettled, type KnownMessage } from './known-message.js';
import { OrderSeen, type PageOrder } from './page-order.js';
import {
  LARGE_LIMIT,
  mayBeAboutContent,
  mayBeAboutSize,
  PAGE_LIMIT,
  type PageRead,
  PageReader,
} from './page-reader.js';
import { FAILS } from './page-reading.js';
import { type Stretch, tailOf } from './page-tail.js';
import { PartSearch } from './part-search.js';
import { headMark, markUnreadable, splitMarks } from './poll-memory.js';
import type { PollConclusion, PollStart } from './poll-conclusion.js';
import type { FeedSource, ReadPurpose } from './ports.js';
import type { Everything, Reading } from './reading.js';

/** A contact with more messages or pages than this is read as far as that: so many are a fault upstream. */
const MAX_PAGES = 10_000;
const MAX_MESSAGES = 200_000;
/** So many times at most everything is read again, while something new turns up. */
const MAX_PASSES = 5;
/** After a wait at one of the first pages everything is read from the first one again: there is little to be read twice. */
const MAX_PAGES_ANEW = 5;
/** So many pages are held back at most, while none of them shows anything that was known. */
const MAX_HELD_PAGES = 50;
/** Another read of the same contact was committed meanwhile, this many times in a row. */
const MAX_RACES = 5;
/** So many ids of the end of the list are remembered: the longest stretch that new messages are looked for on. */
const TAIL_IDS = LARGE_LIMIT;

export interface DeepReadSettings {
  /** How long after its timestamp a message's flags are looked after, in milliseconds. */
  settleMs: number;
  /** Waits before a page that failed is asked for again, in milliseconds; then it is read in parts. */
  pageRetriesMs: readonly number[];
}

/** What is to be read, and on whose behalf. */
export interface DeepTask {
  account: string;
  contactId: string;
  purpose: ReadPurpose;
  /** `everything`: every message of the contact; `look`: as far as all messages are met whose flags may still change. */
  goal: 'everything' | 'look';
  /** Ends it after the page that is under way. */
  signal?: AbortSignal;
}

/**
 * Reads a contact beyond its head, page after page; each page is compared and committed by itself, so that the head can be
 * polled meanwhile, and nothing of it is lost when it breaks off.
 *
 * What a reading of everything does not show may have slipped from page to page while it went on: then everything is read
 * again, and only what neither shows is missing.
 */
export class DeepRead {
  private readonly pages: PageReader;
  private readonly wanted = new Set<string>();
  private knownBefore: ReadonlyMap<string, KnownMessage> = new Map();
  /** Known messages of the page that was read last. */
  private lastKnown: ReadonlyMap<string, KnownMessage> = new Map();
  private state: ContactState;
  private order: PageOrder;
  private orderSeen = new OrderSeen();
  private limit: number | undefined;
  /** Whether a larger page than documented could not be read. */
  private refusesMore = false;
  /** Pages that wait to be committed until something known is met. */
  private held: PageRead[] = [];
  private holds = false;
  private foundNew = false;
  private firstIds: readonly string[] = [];
  private lastIds: string[] = [];
  private stable = false;
  /** Whether the last page repeated others: a whole page may have moved there. */
  private endedOnRepeat = false;
  /** How many elements the page before held. */
  private lastCount: number | undefined;
  /** The page that was asked for again and again, until it could be read, or failed for good. */
  private waitedFor: number | undefined;

  constructor(
    private readonly store: FeedStore,
    source: FeedSource,
    private readonly conclusion: PollConclusion,
    private readonly settings: DeepReadSettings,
    private readonly task: DeepTask,
    state: ContactState,
  ) {
    const { account, contactId, purpose } = task;
    this.state = state;
    this.order = state.memory.order;
    this.limit = state.memory.limit ?? (state.longestPage > PAGE_LIMIT ? LARGE_LIMIT : undefined);
    this.pages = new PageReader(
      (page, limit) => source.listMessages(account, contactId, page, limit, purpose),
      async (ids) => {
        this.lastKnown = await store.knownMessages(account, contactId, ids);
        return new Set(this.lastKnown.keys());
      },
      state.memory,
    );
  }

  /**
   * @returns whether it came to its end
   * @throws {UpstreamError} if a page could not be read; what was read before it is committed
   */
  async run(): Promise<boolean> {
    const { goal } = this.task;
    this.knownBefore = await this.allKnown();
    // Those at the head are seen by the polls of the head.
    const head = new Set(splitMarks(this.state.memory.head));
    for (const [id, known] of this.knownBefore)
      if (isUnsettled(known, this.state.now, this.settings.settleMs) && !head.has(headMark([id])))
        this.wanted.add(id);
    const present = this.presentBefore().length;
    this.holds = isTooMany(present, present);
    const ended =
      goal === 'everything' || !this.canLook() ? await this.readEverything() : await this.lookUp();
    return ended;
  }

  private canLook(): boolean {
    return this.order === 'newestFirst' || this.order === 'oldestFirst';
  }

  private async lookUp(): Promise<boolean> {
    const met = this.order === 'newestFirst' ? await this.lookDown() : await this.lookBack();
    if (met === 'stopped') return false;
    return this.end(met === 'all' ? undefined : 'missed');
  }

  private async lookDown(): Promise<'all' | 'end' | 'stopped'> {
    const limit = this.limit ?? PAGE_LIMIT;
    // The first page of the documented size was just read as the head.
    for (let page = limit > PAGE_LIMIT ? 1 : 2; page <= MAX_PAGES; page += 1) {
      if (this.isStopped()) return 'stopped';
      const read = await this.takeAndCommit(page, limit);
      if (read === undefined) return 'stopped';
      if (this.hasMetAllWanted()) return 'all';
      if (read.repeats) return 'end';
    }
    return 'end';
  }

  private async lookBack(): Promise<'all' | 'end' | 'stopped'> {
    const { page: last, limit } = tailOf(this.state.memory.length, this.pages.pageSize);
    for (let page = Math.max(last - 1, 1); page >= 1; page -= 1) {
      if (this.isStopped()) return 'stopped';
      if ((await this.takeAndCommit(page, limit)) === undefined) return 'stopped';
      if (this.hasMetAllWanted()) return 'all';
    }
    return 'end';
  }

  private async readEverything(): Promise<boolean> {
    const isFirst = this.state.tellAfter !== undefined;
    let looksAgainForMissing = true;
    for (let passes = 1; passes <= MAX_PASSES; passes += 1) {
      const pages = await this.pass();
      if (pages === 'stopped') return false;
      if (this.held.some(({ ids }) => ids.length > 0)) return this.takeNewBaseline();
      // What cannot be read may be what is missing: to read it all once more would say nothing new.
      const isWhole = this.pages.skipped === 0;
      const isMissing = this.stable && isWhole && this.someMissing();
      // The first time all is new: it is read again only where something may have been missed.
      const again = isFirst ? !this.stable && this.shifted() : this.foundNew && pages > 1 && isWhole;
      if (again) continue;
      if (!isMissing || !looksAgainForMissing) break;
      looksAgainForMissing = false;
    }
    return this.end('everything');
  }

  /** One reading from the first page to the last. Answers how many pages it has, or that it was told to stop. */
  private async pass(): Promise<number | 'stopped'> {
    const small = async (): Promise<number | 'stopped'> => {
      this.refusesMore = true;
      this.limit = PAGE_LIMIT;
      return this.passOf(PAGE_LIMIT);
    };
    if (this.limit === undefined) {
      const first = await this.findLimit();
      return first === undefined ? 'stopped' : this.passOf(first.limit, first);
    }
    const { limit } = this;
    try {
      return await this.passOf(limit);
    } catch (error) {
      // Upstream may have ceased to honour what it honoured once.
      if (limit !== LARGE_LIMIT || !this.pages.askedForMuch || !mayBeAboutSize(error)) throw error;
      return small();
    }
  }

  /**
   * Finds out which limit upstream honours, by a page of the documented size, unless the head has shown that it is full,
   * and a larger one. Answers the first page as it was read last.
   */
  private async findLimit(): Promise<PageRead | undefined> {
    let first: PageRead | undefined;
    if (this.state.memory.pageSize < PAGE_LIMIT) {
      this.beginPass();
      first = await this.takeAndCommit(1, PAGE_LIMIT);
      if (first === undefined || first.count < PAGE_LIMIT) return first;
    }
    try {
      this.beginPass();
      const larger = await this.takeAndCommit(1, LARGE_LIMIT);
      if (larger === undefined) return undefined;
      this.limit = larger.count > PAGE_LIMIT ? LARGE_LIMIT : PAGE_LIMIT;
      return { ...larger, limit: this.limit };
    } catch (error) {
      if (!mayBeAboutSize(error)) throw error;
      this.refusesMore = true;
      this.limit = PAGE_LIMIT;
      this.beginPass();
      return this.takeAndCommit(1, PAGE_LIMIT);
    }
  }

  private beginPass(): void {
    this.pages.beginPass();
    this.lastCount = undefined;
    this.orderSeen = new OrderSeen();
    this.foundNew = false;
    this.lastIds = [];
    this.stable = false;
    this.endedOnRepeat = false;
  }

  /** @param first its first page, if that was just read */
  private async passOf(limit: number, first?: PageRead): Promise<number | 'stopped'> {
    if (first === undefined) this.beginPass();
    let last: PageRead | undefined;
    let unreadable = 0;
    let count = 0;
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      if (this.isStopped()) return 'stopped';
      const waitedBefore = this.wasWaitedFor(page);
      let read = page === 1 && first !== undefined ? first : await this.tryPage(page, limit);
      if (read instanceof FailedPage) {
        // What was read before the wait may have moved meanwhile, and then this page would have to be searched twice.
        const hasWaited = !waitedBefore && this.wasWaitedFor(page);
        if (hasWaited && page > 1 && page <= MAX_PAGES_ANEW) return this.passOf(limit);
        read = await this.takeParts(page, limit, read);
      }
      if (read === undefined) return 'stopped';
      if (page === 1) this.firstIds = read.ids;
      if (read.ids.length === 0 && read.count > 0) {
        unreadable += 1;
        if (unreadable === MAX_UNREADABLE_PAGES) return page;
        continue;
      }
      unreadable = 0;
      if (read.repeats) {
        const isEmpty = read.ids.length === 0;
        if (isEmpty && last !== undefined && (await this.pages.goesOn(last, page))) continue;
        // A page that repeats others may be one of a shuffled list, or `page` is ignored: more may stand elsewhere.
        this.stable = read.count === 0 && count === this.pages.servedCount;
        this.endedOnRepeat = !isEmpty;
        return page;
      }
      count += read.ids.length;
      last = read;
      // What shifted from the page before stands here again, and says nothing of the order.
      const added = read.items.filter(({ id }) => read.added.has(id));
      this.orderSeen.add(added);
      this.lastIds = [...this.lastIds, ...added.map(({ id }) => id)].slice(-TAIL_IDS);
      if (contradicts(this.order, read.items)) this.order = 'unsorted';
      if (this.pages.ids.size > MAX_MESSAGES) return page;
    }
    return MAX_PAGES;
  }

  /** Whether the list moved while it was read, so that something may have been missed. */
  private shifted(): boolean {
    return this.pages.servedTwice || this.endedOnRepeat;
  }

  /**
   * Reads a page and commits what it shows; again, if another read of the contact was committed meanwhile. What is known is
   * looked at before each request: a page is never compared with what was committed after it was asked for.
   *
   * A page that fails is asked for again after a while, then in parts. Undefined if the contact is not known any more, or
   * others were always faster.
   */
  private async takeAndCommit(page: number, limit: number): Promise<PageRead | undefined> {
    const read = await this.tryPage(page, limit);
    return read instanceof FailedPage ? this.takeParts(page, limit, read) : read;
  }

  /** {@link takeAndCommit}, but for the parts. */
  private async tryPage(page: number, limit: number): Promise<PageRead | FailedPage | undefined> {
    const isPatient = !this.wasWaitedFor(page) && !this.failedBefore();
    const retries = isPatient ? [...this.settings.pageRetriesMs] : [];
    for (let races = 0; races < MAX_RACES;) {
      if (!(await this.look())) return undefined;
      let read: PageRead;
      try {
        read = await this.pages.takePlain(page, limit);
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
      this.pages.takeBack();
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
  private async takeParts(
    page: number,
    limit: number,
    { failure }: FailedPage,
  ): Promise<PageRead | undefined> {
    if (!mayBeAboutContent(failure)) throw failure;
    // A page after the first one covers what upstream's cap lets it, which its parts must not reach beyond.
    const size = page === 1 ? limit : Math.min(limit, this.lastCount ?? this.pages.pageSize);
    const search = new PartSearch({ page, limit: size });
    const parts: PageRead[] = [];
    for (let part = search.next(); part !== undefined; part = search.next()) {
      const read = await this.takePart(part, search);
      if (read === undefined) return undefined;
      if (read !== 'smaller') parts.push(read);
    }
    const whole = this.pages.joined(parts, limit);
    this.lastCount = whole.count;
    if (whole.ids.length === 0 && limit === PAGE_LIMIT) throw failure;
    return whole;
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
        read = await this.pages.takePlain(page, limit);
      } catch (error) {
        if (!mayBeAboutContent(error)) throw error;
        if (limit > 1) {
          search.failed();
          return 'smaller';
        }
        read = this.pages.unshown();
        isShown = false;
      }
      if (await this.commitPage(page, read)) {
        if (isShown) search.succeeded();
        else search.failed();
        return read;
      }
      this.pages.takeBack();
    }
    return undefined;
  }

  private async commitPage(page: number, read: PageRead): Promise<boolean> {
    if (read.ids.length === 0 && this.pages.unreadable.size === 0) return true;
    const { account, contactId } = this.task;
    const known = read.ids.every((id) => this.lastKnown.has(id) || read.fresh.includes(id))
      ? this.lastKnown
      : await this.store.knownMessages(account, contactId, read.ids);
    if (this.holds) {
      if (known.size === 0 && this.held.length < MAX_HELD_PAGES) {
        this.held.push(read);
        return true;
      }
      this.holds = false;
    }
    const served = [...this.held, read].flatMap(({ items }) => items);
    const isNew = served.some(({ id }) => !known.has(id));
    const reading = { ...this.readingOf(served), ...this.headOn(page, read), learns: page === 1 };
    const done = await this.conclusion.commit(this.startOf(), reading, known, 'page');
    if (!done) return false;
    this.held = [];
    this.foundNew ||= isNew;
    this.pages.release();
    return true;
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
  private async takeNewBaseline(): Promise<false> {
    const served = this.held.flatMap(({ items }) => items);
    const resync = 'upstream shows other messages than before';
    const start = { ...this.startOf(), resync };
    await this.conclusion.commit(start, this.readingOf(served), new Map(), 'page');
    return false;
  }

  private startOf(): PollStart {
    const { account, contactId } = this.task;
    return { account, contactId, state: this.state };
  }

  private readingOf(served: Reading['served']): Reading {
    const { pages, limit, order, state } = this;
    return {
      served,
      order: order === 'unsorted' ? order : state.memory.order,
      length: state.memory.length,
      ...{ pageSize: pages.pageSize, longestPage: pages.longestPage },
      ...(limit === undefined ? {} : { limit }),
      skipped: pages.skipped,
      unreadable: [...pages.unreadable],
      ...(pages.date === undefined ? {} : { date: pages.date }),
      learns: false,
      looked: false,
      needsEverything: false,
    };
  }

  /** Concludes: what is missing, in which order the list is, and when to look again. */
  private async end(result: 'everything' | 'missed' | undefined): Promise<boolean> {
    const { account, contactId } = this.task;
    for (let race = 0; race < MAX_RACES; race += 1) {
      const state = await this.store.contactState(account, contactId);
      if (state === undefined || state.lost) return false;
      this.state = state;
      const known = await this.allKnown();
      const everything: Everything | undefined =
        result === 'everything'
          ? {
              seen: this.pages.ids,
              knownBefore: new Set(this.knownBefore.keys()),
              stable: this.stable,
            }
          : undefined;
      const reading: Reading = {
        ...this.readingOf([]),
        ...(everything === undefined ? {} : { everything, ...this.learned() }),
        looked: true,
        needsEverything: result === 'missed',
      };
      if (result === 'everything' && !this.knowsLimit()) delete reading.limit;
      if (await this.conclusion.commit(this.startOf(), reading, known, 'end')) return true;
    }
    return false;
  }

  /** What a reading of everything shows of how the contact is to be read. */
  private learned(): Pick<Reading, 'order' | 'length' | 'head'> {
    const seen = this.orderSeen.order;
    const order = seen === 'unknown' ? this.order : seen;
    const length = this.pages.servedCount;
    const { memory } = this.state;
    if (order === 'oldestFirst') {
      const { page, limit } = tailOf(length, this.pages.pageSize);
      const count = length - (page - 1) * limit;
      return { order, length, head: count > 0 ? this.lastIds.slice(-count) : [] };
    }
    // The head was read by polls meanwhile, which know it better.
    const isKnown = order === memory.order && memory.head !== '';
    return { order, length, ...(isKnown ? {} : { head: this.firstIds.slice(0, PAGE_LIMIT) }) };
  }

  /** Whether everything shows which limit upstream honours: few messages fill no larger page. */
  private knowsLimit(): boolean {
    return this.limit !== PAGE_LIMIT || this.refusesMore || this.pages.servedCount > PAGE_LIMIT;
  }

  private allKnown(): Promise<ReadonlyMap<string, KnownMessage>> {
    return this.store.allKnownMessages(this.task.account, this.task.contactId);
  }

  private presentBefore(): string[] {
    return [...this.knownBefore].filter(([, { deleted }]) => !deleted).map(([id]) => id);
  }

  private someMissing(): boolean {
    return this.presentBefore().some((id) => !this.pages.ids.has(id));
  }

  private hasMetAllWanted(): boolean {
    for (const id of this.wanted) if (!this.pages.ids.has(id)) return false;
    return true;
  }

  /** Whether this page was waited for; what makes it fail may have moved by one since. */
  private wasWaitedFor(page: number): boolean {
    return this.waitedFor !== undefined && Math.abs(page - this.waitedFor) <= 1;
  }

  /** Whether a message that upstream fails to show was met before: then to wait for it is no use. */
  private failedBefore(): boolean {
    return markUnreadable(this.state.memory.unreadable, [FAILS]).fresh === 0;
  }

  private isStopped(): boolean {
    return this.task.signal?.aborted === true;
  }
}

/** A page that failed also when it was asked for again. */
class FailedPage {
  constructor(readonly failure: unknown) {}
}

/** Whether the same request may succeed a little later. */
function isTransient(error: unknown): boolean {
  if (error instanceof UpstreamStatusError) return error.status >= 500 || error.status === 429;
  return error instanceof UpstreamError && !(error instanceof UpstreamUnavailableError);
}
