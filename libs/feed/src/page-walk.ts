import {
  UpstreamError,
  type UpstreamMessage,
  UpstreamStatusError,
  UpstreamUnreachableError,
} from '#upstream';
import { orderOf, type PageOrder } from './page-order.js';
import { inReadableParts, type ReadPage } from './page-reading.js';
import { tailOf } from './page-tail.js';

/** Upstream's documented page size. */
export const PAGE_LIMIT = 20;
/** What is asked for where everything is read, once upstream has shown that it honours more than that. */
export const LARGE_LIMIT = 100;

/** A contact with more pages than this is read as far as that: so many requests for one contact is a fault upstream. */
const MOST_PAGES = 10_000;
/** While new messages keep turning up, the pages are read again so many times at most. */
const MOST_ROUNDS = 5;
/**
 * Pages are taken to hold at least so many: were it one, a first message could not be told from a full page, and each
 * look at it would cost a second request.
 */
const SMALLEST_PAGE = 2;
/** After so many pages in a row of which nothing can be read, nothing readable is expected any more. */
const MOST_UNREADABLE = 5;

/** What the walk asks for. */
export interface WalkSource {
  read: ReadPage;
  /** Which of these ids were known before this walk. */
  known(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

/** What is known of a contact's pages before a walk. */
export interface WalkPlan {
  order: PageOrder;
  /** Everything is to be read, not only what is needed to see what is new. */
  complete: boolean;
  /** How many messages the last read of everything showed; where the oldest come first, how many there were last. */
  length: number;
  /** The longest page that upstream has shown: a shorter one holds the end. */
  pageSize: number;
  /** The limit that upstream is known to honour where everything is read; absent while that is to be found out. */
  limit?: number;
  /** Messages that are to be seen, wherever they stand. */
  wanted: ReadonlySet<string>;
}

/** What a walk brought. */
export interface WalkResult {
  /** Every message that was seen, once, in its latest form, in the order of service. */
  served: UpstreamMessage[];
  /** Of what stood where the plan says that new messages appear: the ids, in their order. */
  shown: string[];
  /** What stands at last where new messages will appear next, in its order. */
  head: string[];
  order: PageOrder;
  length: number;
  pageSize: number;
  /** Whether everything was read, up to the end. */
  complete: boolean;
  /** Whether it was read without anything moving from page to page: what it does not show is not there. */
  stable: boolean;
  /** The limit that upstream honours where everything is read; absent while that is not known. */
  limit?: number;
  /** How many elements could not be read. */
  skipped: number;
  /** What tells them apart, one a different element. */
  unreadable: readonly string[];
  /** Upstream's clock at the first page, in milliseconds since 1970, if it said so. */
  date?: number;
}

/**
 * Reads as many pages as are needed to have seen every new message, whatever the order.
 *
 * Where page 1 is known to hold the newest, a round goes on from there to the first page on which nothing is new; where
 * it holds the oldest, from the stretch that was the last; elsewhere it reads everything, up to an empty page or one that
 * repeats what the round was already served (`page` ignored). While a client pages, items shift; so a round of several
 * pages that found something new is followed by another one as deep, until one finds nothing new.
 */
export async function walkPages(source: WalkSource, plan: WalkPlan): Promise<WalkResult> {
  const walk = new Walk(source, plan);
  try {
    await walk.rounds();
  } catch (error) {
    // Upstream may have ceased to honour what it honoured once.
    if (plan.limit !== LARGE_LIMIT || !walk.askedForMuch || !mayBeAboutSize(error)) throw error;
    walk.beginWithSmallPages();
    await walk.rounds();
  }
  return walk.result();
}

interface Round {
  pages: number;
  foundNew: boolean;
}

/** One page as it was read. */
interface PageRead {
  ids: string[];
  limit: number;
  /** With the elements that could not be read. */
  count: number;
  /** Whether no page that was asked for with this limit was longer. */
  full: boolean;
  /** Whether there is something that was neither known nor seen in this walk. */
  fresh: boolean;
  /** Whether there is something that was not known before this walk. */
  hasNews: boolean;
  /** Whether its first message was not known before this walk. */
  startsNew: boolean;
  /** Whether this round was served all of it before. */
  repeats: boolean;
}

class Walk {
  private readonly seen = new Map<string, UpstreamMessage>();
  /** Of what was seen: what was not known before. */
  private readonly news = new Set<string>();
  /** Of the round that is under way. */
  private served = new Map<string, UpstreamMessage>();
  private shown: string[] | undefined;
  private head: string[] = [];
  private length: number;
  private pageSize: number;
  /** The longest page that was asked for with the large limit. */
  private largestPage = 0;
  private limit: number | undefined;
  private order: PageOrder;
  private complete = false;
  private stable = false;
  private readonly unreadable = new Set<string>();
  /** Elements that could not be read, in the first round. */
  private skipped = 0;
  private isFirstRound = true;
  /** Whether something new was seen before it began anew. */
  private hasNewsOfBefore = false;
  private date: number | undefined;
  /** Whether the last page was asked for with more than the documented limit. */
  askedForMuch = false;

  private readonly read: ReadPage;

  constructor(
    private readonly source: WalkSource,
    private readonly plan: WalkPlan,
  ) {
    this.read = inReadableParts((page, limit) => {
      this.askedForMuch = limit > PAGE_LIMIT;
      return source.read(page, limit);
    });
    this.limit = plan.limit;
    this.order = plan.order;
    this.length = plan.length;
    this.pageSize = Math.max(plan.pageSize, SMALLEST_PAGE);
  }

  async rounds(): Promise<void> {
    for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
      const { pages, foundNew } = await this.round();
      if (!(foundNew || this.hasNewsOfBefore) || pages === 1) return;
      this.hasNewsOfBefore = false;
    }
  }

  /** Begins anew. What was seen so far was there, and stays. */
  beginWithSmallPages(): void {
    this.limit = PAGE_LIMIT;
    this.hasNewsOfBefore = this.news.size > 0;
    this.isFirstRound = true;
    this.skipped = 0;
  }

  private async round(): Promise<Round> {
    this.served = new Map();
    const outcome =
      this.order === 'oldestFirst' && !this.plan.complete
        ? await this.fromTheEnd()
        : await this.fromTheStart();
    this.isFirstRound = false;
    return outcome;
  }

  result(): WalkResult {
    const { order, date, shown, head, length, pageSize, limit, complete, stable } = this;
    return {
      served: [...this.seen.values()],
      shown: shown ?? head,
      head,
      order,
      length,
      pageSize,
      complete,
      stable,
      skipped: this.skipped,
      unreadable: [...this.unreadable],
      ...(limit === undefined ? {} : { limit }),
      ...(date === undefined ? {} : { date }),
    };
  }

  private async fromTheStart(): Promise<Round> {
    let foundNew = false;
    let unreadable = 0;
    let count = 0;
    let limit = PAGE_LIMIT;
    let last: PageRead | undefined;
    for (let page = 1; page <= MOST_PAGES; page += 1) {
      const read = page === 1 ? await this.takeFirst() : await this.take(page, limit);
      const { fresh, hasNews, ids, repeats } = read;
      if (page === 1) {
        this.head = ids.slice(0, PAGE_LIMIT);
        ({ limit } = read);
      }
      foundNew ||= fresh;
      if (ids.length === 0 && read.count > 0) {
        unreadable += 1;
        if (unreadable === MOST_UNREADABLE) return { pages: page, foundNew };
        continue;
      }
      unreadable = 0;
      if (repeats) {
        if (ids.length === 0 && last !== undefined && (await this.goesOn(last, page))) continue;
        this.finish(count, read.count === 0);
        return { pages: page, foundNew };
      }
      count += ids.length;
      last = read;
      if (contradicts(this.order, [...this.served.values()])) this.order = 'unsorted';
      if (this.plan.complete || hasNews) continue;
      if (!this.hasMetAllWanted()) continue;
      if (this.order === 'newestFirst') return { pages: page, foundNew };
      // One page that is shorter than upstream's pages are, nothing new on it, and all there was: there is no other.
      if (this.order === 'unknown' && page === 1 && ids.length < this.pageSize && ids.length >= this.length)
        return { pages: page, foundNew };
    }
    return { pages: MOST_PAGES, foundNew };
  }

  /** The first page; where everything is to be read, in the largest form that upstream honours. */
  private async takeFirst(): Promise<PageRead> {
    const everything = this.plan.complete || this.order === 'unsorted' || this.order === 'unknown';
    if (!everything) return this.take(1);
    if (this.limit !== undefined) return this.take(1, this.limit);
    const first = await this.take(1);
    if (first.count < PAGE_LIMIT) return first;
    this.served = new Map();
    let larger: PageRead;
    try {
      larger = await this.take(1, LARGE_LIMIT);
    } catch (error) {
      if (!mayBeAboutSize(error)) throw error;
      this.limit = PAGE_LIMIT;
      return this.take(1);
    }
    this.limit = larger.count > PAGE_LIMIT ? LARGE_LIMIT : PAGE_LIMIT;
    return { ...larger, limit: this.limit, fresh: first.fresh || larger.fresh };
  }

  private async fromTheEnd(): Promise<Round> {
    const { page, limit } = tailOf(this.length, this.pageSize);
    const start = (page - 1) * limit;
    const tail = await this.take(page, limit);
    if (tail.count === 0 || tail.count >= limit || tail.startsNew) return this.onFrom(start);
    this.settle(start, start, tail.ids, tail.count);
    await this.lookBack(page - 1, limit);
    return { pages: 1, foundNew: tail.fresh };
  }

  /** Goes on to the end from the page that holds a place, and back from there to something that is known. */
  private async onFrom(start: number): Promise<Round> {
    this.served = new Map();
    let first = Math.floor(start / this.pageSize) + 1;
    let last = await this.take(first);
    while (last.count === 0 && first > 1) {
      first -= 1;
      last = await this.take(first);
    }
    let { startsNew } = last;
    const reads = [last];
    for (let page = first + 1; last.count >= this.pageSize && page - first < MOST_PAGES; page += 1) {
      const next = await this.take(page);
      if (next.count === 0 ? !(await this.goesOn(last, page)) : next.repeats) break;
      if (next.count === 0) continue;
      last = next;
      reads.push(next);
    }
    while (startsNew && first > 1) {
      first -= 1;
      const before = await this.take(first);
      reads.unshift(before);
      ({ startsNew } = before);
    }
    const ids = reads.flatMap((read) => read.ids);
    const count = reads.reduce((sum, read) => sum + read.count, 0);
    this.settle(start, (first - 1) * this.pageSize, ids, count);
    await this.lookBack(first - 1, PAGE_LIMIT);
    return { pages: reads.length + 1, foundNew: ids.some((id) => this.news.has(id)) };
  }

  /** Everything from a place on is known now. */
  private settle(planned: number, from: number, ids: readonly string[], count: number): void {
    if (
      contradicts(
        'oldestFirst',
        ids.flatMap((id) => this.seen.get(id) ?? []),
      )
    )
      this.order = 'unsorted';
    this.shown ??= ids.slice(Math.max(planned - from, 0));
    this.length = from + count;
    const { page, limit } = tailOf(this.length, this.pageSize);
    const place = (page - 1) * limit - from;
    // What stands before this stretch was not read: then the next walk has nothing to compare with.
    this.head = place < 0 ? [] : ids.slice(place);
  }

  private async lookBack(from: number, limit: number): Promise<void> {
    for (let page = from; page >= 1 && !this.hasMetAllWanted(); page -= 1) await this.take(page, limit);
  }

  private async take(page: number, limit = PAGE_LIMIT): Promise<PageRead> {
    const { items, skipped, unreadable = [], date } = await this.read(page, limit);
    this.date ??= date;
    if (this.isFirstRound) this.skipped += skipped;
    for (const element of unreadable) this.unreadable.add(element);
    const count = items.length + skipped;
    // Without what cannot be read, which may stand there besides: taken for too long, every page would look like the last.
    if (limit > PAGE_LIMIT) this.largestPage = Math.max(this.largestPage, items.length);
    else this.pageSize = Math.max(this.pageSize, items.length);
    const full = count >= (limit > PAGE_LIMIT ? this.largestPage : this.pageSize);
    const ids = items.map(({ id }) => id);
    const repeats = ids.every((id) => this.served.has(id));
    const unseen = ids.filter((id) => !this.seen.has(id));
    const known = unseen.length === 0 ? new Set<string>() : await this.source.known(unseen);
    const fresh = unseen.filter((id) => !known.has(id));
    for (const id of fresh) this.news.add(id);
    for (const message of items) {
      this.served.set(message.id, message);
      this.seen.set(message.id, message);
    }
    const startsNew = ids[0] !== undefined && this.news.has(ids[0]);
    const hasNews = ids.some((id) => this.news.has(id));
    return { ids, limit, count, full, fresh: fresh.length > 0, hasNews, startsNew, repeats };
  }

  /** An empty page right behind a full one may be a hole: then the list goes on after it. */
  private async goesOn(last: PageRead, empty: number): Promise<boolean> {
    if (!last.full) return false;
    const { items, skipped } = await this.read(empty + 1, last.limit);
    return items.length + skipped > 0;
  }

  /** Everything was read: what it shows of the order is believed from now on. */
  private finish(count: number, cameToTheEnd: boolean): void {
    this.complete = true;
    // A page that repeats others may be one of a list that is shuffled, or `page` is ignored: more may stand elsewhere.
    this.stable = cameToTheEnd && count === this.served.size;
    const seen = orderOf([...this.served.values()]);
    if (seen !== 'unknown') this.order = seen;
    this.length = this.served.size;
    if (this.order === 'oldestFirst') this.settle(0, 0, [...this.served.keys()], this.served.size);
  }

  private hasMetAllWanted(): boolean {
    for (const id of this.plan.wanted) if (!this.seen.has(id)) return false;
    return true;
  }
}

/** Whether upstream may have failed because it was asked for so much. */
function mayBeAboutSize(error: unknown): boolean {
  if (error instanceof UpstreamStatusError) return ![401, 403, 404, 429].includes(error.status);
  return error instanceof UpstreamError && !(error instanceof UpstreamUnreachableError);
}

function contradicts(believed: PageOrder, stretch: readonly UpstreamMessage[]): boolean {
  const seen = orderOf(stretch);
  return believed !== 'unknown' && seen !== 'unknown' && seen !== believed;
}
