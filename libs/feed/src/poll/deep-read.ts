import { CommittedPages, FailedPage, MAX_RACES } from './committed-pages.js';
import type { ContactState, FeedStore } from '../feed-store.js';
import { contradicts, MAX_UNREADABLE_PAGES } from '../walk/head-walk.js';
import { isUnsettled, type KnownMessage } from '../snapshot/known-message.js';
import { OrderSeen } from '../walk/page-order.js';
import {
  LARGE_LIMIT,
  mayBeAboutSize,
  PAGE_LIMIT,
  type PageRead,
  type PageReader,
} from '../walk/page-reader.js';
import { tailOf } from '../walk/page-tail.js';
import { headMark, splitMarks } from '../snapshot/poll-memory.js';
import type { PollConclusion } from './poll-conclusion.js';
import type { FeedSource, ReadPurpose } from '../ports.js';
import type { Everything, Reading } from '../walk/reading.js';

/** A contact with more messages or pages than this is read as far as that: so many are a fault upstream. */
const MAX_PAGES = 10_000;
const MAX_MESSAGES = 200_000;
/** So many times at most everything is read again, while something new turns up. */
const MAX_PASSES = 5;
/** After a wait at one of the first pages everything is read from the first one again: there is little to be read twice. */
const MAX_PAGES_ANEW = 5;
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
  private readonly pages: CommittedPages;
  /** What the pages showed. */
  private readonly reader: PageReader;
  private readonly wanted = new Set<string>();
  /** The ids that were known before it began, and those of them that are not told as deleted: only these can be missing. */
  private knownBefore: ReadonlySet<string> = new Set();
  private presentBefore: readonly string[] = [];
  private orderSeen = new OrderSeen();
  /** Whether a larger page than documented could not be read. */
  private refusesMore = false;
  private firstIds: readonly string[] = [];
  private lastIds: string[] = [];
  private stable = false;
  /** Whether the last page repeated others: a whole page may have moved there. */
  private endedOnRepeat = false;

  constructor(
    private readonly store: FeedStore,
    source: FeedSource,
    private readonly conclusion: PollConclusion,
    private readonly settings: DeepReadSettings,
    private readonly task: DeepTask,
    state: ContactState,
  ) {
    const { pageRetriesMs } = settings;
    this.pages = new CommittedPages(store, source, conclusion, { ...task, pageRetriesMs }, state);
    this.reader = this.pages.reader;
  }

  /**
   * @returns whether it came to its end
   * @throws {UpstreamError} if a page could not be read; what was read before it is committed
   */
  async run(): Promise<boolean> {
    const { goal } = this.task;
    this.begin(await this.allKnown());
    this.pages.holdBack(this.presentBefore.length);
    return goal === 'everything' || !this.canLook() ? this.readEverything() : this.lookUp();
  }

  /** Of what is known only the ids are kept: it may be a lot, and a read takes long. */
  private begin(known: ReadonlyMap<string, KnownMessage>): void {
    this.knownBefore = new Set(known.keys());
    this.presentBefore = [...known].filter(([, { deleted }]) => !deleted).map(([id]) => id);
    // Those at the head are seen by the polls of the head.
    const head = new Set(splitMarks(this.pages.state.memory.head));
    for (const [id, message] of known)
      if (isUnsettled(message, this.pages.state.now, this.settings.settleMs) && !head.has(headMark([id])))
        this.wanted.add(id);
  }

  private canLook(): boolean {
    return this.pages.order === 'newestFirst' || this.pages.order === 'oldestFirst';
  }

  private async lookUp(): Promise<boolean> {
    const met = this.pages.order === 'newestFirst' ? await this.lookDown() : await this.lookBack();
    if (met === 'stopped') return false;
    // What waits for something known to be met waits in vain: only everything shows what it is.
    if (this.pages.showsOthers) return this.readEverything();
    return this.end(met === 'all' ? undefined : 'missed');
  }

  private async lookDown(): Promise<'all' | 'end' | 'stopped'> {
    const limit = this.pages.limit ?? PAGE_LIMIT;
    // The first page of the documented size was just read as the head.
    for (let page = limit > PAGE_LIMIT ? 1 : 2; page <= MAX_PAGES; page += 1) {
      if (this.pages.isStopped()) return 'stopped';
      const read = await this.pages.take(page, limit);
      if (read === undefined) return 'stopped';
      if (this.hasMetAllWanted()) return 'all';
      if (read.repeats) return 'end';
    }
    return 'end';
  }

  private async lookBack(): Promise<'all' | 'end' | 'stopped'> {
    const { page: last, limit } = tailOf(this.pages.state.memory.length, this.reader.pageSize);
    for (let page = Math.max(last - 1, 1); page >= 1; page -= 1) {
      if (this.pages.isStopped()) return 'stopped';
      if ((await this.pages.take(page, limit)) === undefined) return 'stopped';
      if (this.hasMetAllWanted()) return 'all';
    }
    return 'end';
  }

  private async readEverything(): Promise<boolean> {
    const isFirst = this.pages.state.tellAfter !== undefined;
    let looksAgainForMissing = true;
    for (let passes = 1; passes <= MAX_PASSES; passes += 1) {
      const pages = await this.pass();
      if (pages === 'stopped') return false;
      if (this.pages.showsOthers) return this.pages.takeNewBaseline();
      // What cannot be read may be what is missing: to read it all once more would say nothing new.
      const isWhole = this.reader.skipped === 0;
      const isMissing = this.stable && isWhole && this.someMissing();
      // The first time all is new: it is read again only where something may have been missed.
      const again = isFirst ? !this.stable && this.shifted() : this.pages.foundNew && pages > 1 && isWhole;
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
      this.pages.limit = PAGE_LIMIT;
      return this.passOf(PAGE_LIMIT);
    };
    if (this.pages.limit === undefined) {
      const first = await this.findLimit();
      return first === undefined ? 'stopped' : this.passOf(first.limit, first);
    }
    const { limit } = this.pages;
    try {
      return await this.passOf(limit);
    } catch (error) {
      // Upstream may have ceased to honour what it honoured once.
      if (limit !== LARGE_LIMIT || !this.reader.askedForMuch || !mayBeAboutSize(error)) throw error;
      return small();
    }
  }

  /**
   * Finds out which limit upstream honours, by a page of the documented size, unless the head has shown that it is full,
   * and a larger one. Answers the first page as it was read last.
   */
  private async findLimit(): Promise<PageRead | undefined> {
    let first: PageRead | undefined;
    if (this.pages.state.memory.pageSize < PAGE_LIMIT) {
      this.beginPass();
      first = await this.pages.take(1, PAGE_LIMIT);
      if (first === undefined || first.count < PAGE_LIMIT) return first;
    }
    try {
      this.beginPass();
      const larger = await this.pages.take(1, LARGE_LIMIT);
      if (larger === undefined) return undefined;
      this.pages.limit = larger.count > PAGE_LIMIT ? LARGE_LIMIT : PAGE_LIMIT;
      return { ...larger, limit: this.pages.limit };
    } catch (error) {
      if (!mayBeAboutSize(error)) throw error;
      this.refusesMore = true;
      this.pages.limit = PAGE_LIMIT;
      this.beginPass();
      return this.pages.take(1, PAGE_LIMIT);
    }
  }

  private beginPass(): void {
    this.pages.beginPass();
    this.orderSeen = new OrderSeen();
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
      if (this.pages.isStopped()) return 'stopped';
      const waitedBefore = this.pages.wasWaitedFor(page);
      let read = page === 1 && first !== undefined ? first : await this.pages.tryPage(page, limit);
      if (read instanceof FailedPage) {
        // What was read before the wait may have moved meanwhile, and then this page would have to be searched twice.
        const hasWaited = !waitedBefore && this.pages.wasWaitedFor(page);
        if (hasWaited && page > 1 && page <= MAX_PAGES_ANEW) return this.passOf(limit);
        read = await this.pages.takeParts(page, limit, read);
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
        if (isEmpty && last !== undefined && (await this.reader.goesOn(last, page))) continue;
        // A page that repeats others may be one of a shuffled list, or `page` is ignored: more may stand elsewhere.
        this.stable = read.count === 0 && count === this.reader.servedCount;
        this.endedOnRepeat = !isEmpty;
        return page;
      }
      count += read.ids.length;
      last = read;
      // What shifted from the page before stands here again, and says nothing of the order.
      const added = read.items.filter(({ id }) => read.added.has(id));
      this.orderSeen.add(added);
      this.lastIds = [...this.lastIds, ...added.map(({ id }) => id)].slice(-TAIL_IDS);
      if (contradicts(this.pages.order, read.items)) this.pages.order = 'unsorted';
      if (this.reader.ids.size > MAX_MESSAGES) return page;
    }
    return MAX_PAGES;
  }

  /** Whether the list moved while it was read, so that something may have been missed. */
  private shifted(): boolean {
    return this.reader.servedTwice || this.endedOnRepeat;
  }

  /** Concludes: what is missing, in which order the list is, and when to look again. */
  private async end(result: 'everything' | 'missed' | undefined): Promise<boolean> {
    const { account, contactId } = this.task;
    for (let race = 0; race < MAX_RACES; race += 1) {
      const state = await this.store.contactState(account, contactId);
      if (state === undefined || state.lost) return false;
      this.pages.state = state;
      const known = await this.allKnown();
      const everything: Everything | undefined =
        result === 'everything'
          ? {
              seen: this.reader.ids,
              knownBefore: this.knownBefore,
              stable: this.stable,
            }
          : undefined;
      const reading: Reading = {
        ...this.pages.readingOf([]),
        ...(everything === undefined ? {} : { everything, ...this.learned() }),
        looked: true,
        needsEverything: result === 'missed',
      };
      if (result === 'everything' && !this.knowsLimit()) delete reading.limit;
      if (await this.conclusion.commit(this.pages.startOf(), reading, known, 'end')) return true;
    }
    return false;
  }

  /** What a reading of everything shows of how the contact is to be read. */
  private learned(): Pick<Reading, 'order' | 'length' | 'head'> {
    const seen = this.orderSeen.order;
    const order = seen === 'unknown' ? this.pages.order : seen;
    const length = this.reader.servedCount;
    const { memory } = this.pages.state;
    if (order === 'oldestFirst') {
      const { page, limit } = tailOf(length, this.reader.pageSize);
      const count = length - (page - 1) * limit;
      return { order, length, head: count > 0 ? this.lastIds.slice(-count) : [] };
    }
    // The head was read by polls meanwhile, which know it better.
    const isKnown = order === memory.order && memory.head !== '';
    return { order, length, ...(isKnown ? {} : { head: this.firstIds.slice(0, PAGE_LIMIT) }) };
  }

  /** Whether everything shows which limit upstream honours: few messages fill no larger page. */
  private knowsLimit(): boolean {
    return this.pages.limit !== PAGE_LIMIT || this.refusesMore || this.reader.servedCount > PAGE_LIMIT;
  }

  private allKnown(): Promise<ReadonlyMap<string, KnownMessage>> {
    return this.store.allKnownMessages(this.task.account, this.task.contactId);
  }

  private someMissing(): boolean {
    return this.presentBefore.some((id) => !this.reader.ids.has(id));
  }

  private hasMetAllWanted(): boolean {
    for (const id of this.wanted) if (!this.reader.ids.has(id)) return false;
    return true;
  }
}
