import type { UpstreamMessage } from '#upstream';
import { orderOf, type PageOrder } from './page-order.js';
import {
  type KnownIds,
  LARGE_LIMIT,
  mayBeAboutContent,
  mayBeAboutSize,
  PAGE_LIMIT,
  type PageRead,
  PageReader,
} from './page-reader.js';
import type { ReadPage } from './page-reading.js';
import { tailOf } from './page-tail.js';

/** After so many pages the rest is left to the reading of everything: no upstream may keep a poll busy for ever. */
const MAX_PAGES = 50;
/** So many times at most several pages are looked at again, while something new turns up on them. */
const MAX_LOOKS = 5;
/** After so many pages in a row of which nothing can be read, nothing readable is expected any more. */
export const MAX_UNREADABLE_PAGES = 5;

/** What is asked of upstream and of what is known. */
export interface WalkSource {
  read: ReadPage;
  /** Which of these ids were known before this walk. */
  known: KnownIds;
}

/** What is known of a contact's pages before its head is read. */
export interface HeadPlan {
  order: PageOrder;
  /** How many messages are known. */
  known: number;
  /** How many messages the last read of everything showed; where the oldest come first, how many there were last. */
  length: number;
  /** The longest page that upstream has shown: a shorter one holds the end. */
  pageSize: number;
  /** The longest page that upstream has shown of any contact of the account. */
  longestPage: number;
  /** The limit above 20 that upstream is known to honour, or 20 if it honours none; absent while that is not known. */
  limit?: number;
  /** The size of the first page, where a full one cannot be read. */
  headLimit?: number;
  /** The size that could be read when a full one could not, some time ago. */
  lastHeadLimit?: number;
  /** Whether everything was never read: what is below the head is going to be. */
  isFirst: boolean;
  /** How many reads of the head failed in a row before this one. */
  failures: number;
}

/** What a read of the head brought. */
export interface HeadReading {
  /** Every message that was seen, once, in its latest form, in the order of service. */
  served: UpstreamMessage[];
  /** Of what stood where new messages appear: the ids, in their order. */
  shown: readonly string[];
  /** What stands at last where new messages will appear next, in its order. */
  head: readonly string[];
  order: PageOrder;
  length: number;
  pageSize: number;
  /** The longest page of this read. */
  longestPage: number;
  /** Whether the last first page had room for more: the list ends on it. */
  showsEnd: boolean;
  limit?: number;
  headLimit?: number;
  /** Whether everything that is new at the head was met: else everything is to be read. */
  reachesKnown: boolean;
  /** Whether it went on to the end of the list and met nothing that was known. */
  metNothingKnown: boolean;
  skipped: number;
  unreadable: readonly string[];
  /** Upstream's clock at the first page, in milliseconds since 1970, if it said so. */
  date?: number;
}

/**
 * Reads what is new of a contact: where the newest come first, from page 1 to the first page that holds something known;
 * where the oldest come first, from the stretch that was the last to the end. One request, unless a whole page is new.
 * In no order that is known, page 1 is enough only if it shows all there was, and room for more.
 *
 * Between two pages messages may shift: so a walk of several pages looks at all but the last of them again, until they
 * show nothing new.
 */
export async function readHead(source: WalkSource, plan: HeadPlan): Promise<HeadReading> {
  const walk = new HeadWalk(source, plan);
  await walk.run();
  return walk.result();
}

class HeadWalk {
  private readonly pages: PageReader;
  private order: PageOrder;
  private length: number;
  private limit: number | undefined;
  private headLimit: number | undefined;
  private shown: readonly string[] = [];
  private head: readonly string[] = [];
  private reachesKnown = true;
  private metNothingKnown = false;
  private showsEnd = false;

  constructor(
    source: WalkSource,
    private readonly plan: HeadPlan,
  ) {
    // Where a full first page fails, one of the messages makes it fail: then it is found, and skipped.
    const isAboutOneMessage = (error: unknown): boolean =>
      this.headLimit !== undefined && mayBeAboutContent(error);
    this.pages = new PageReader(source.read, source.known, plan, isAboutOneMessage);
    this.order = plan.order;
    this.length = plan.length;
    // What upstream serves of one contact it serves of another.
    this.limit = plan.limit ?? (plan.longestPage > PAGE_LIMIT ? LARGE_LIMIT : undefined);
    this.headLimit = plan.headLimit;
  }

  async run(): Promise<void> {
    if (this.order === 'oldestFirst') await this.readTail();
    else if (this.order === 'newestFirst') await this.readTop();
    else await this.readFirst();
  }

  private async take(page: number, limit: number): Promise<PageRead> {
    return this.checked(await this.pages.take(page, limit));
  }

  /** A page, which may show that the order is another one than was believed. */
  private checked(read: PageRead): PageRead {
    if (contradicts(this.order, read.items)) {
      this.order = 'unsorted';
      this.reachesKnown = false;
    }
    return read;
  }

  result(): HeadReading {
    const { order, shown, head, length, limit, headLimit, reachesKnown, metNothingKnown, pages } = this;
    return {
      served: [...pages.seen.values()],
      ...{ shown, head, order, length, reachesKnown, metNothingKnown },
      ...{ pageSize: pages.pageSize, longestPage: pages.longestPage, showsEnd: this.showsEnd },
      skipped: pages.skipped,
      unreadable: [...pages.unreadable],
      ...(limit === undefined ? {} : { limit }),
      ...(headLimit === undefined ? {} : { headLimit }),
      ...(pages.date === undefined ? {} : { date: pages.date }),
    };
  }

  /** Page 1, whose order is not known: all of a short list, or the beginning of what is to be read whole. */
  private async readFirst(): Promise<void> {
    const large = this.limit === LARGE_LIMIT && this.headLimit === undefined;
    const first = large ? await this.takeLarge() : await this.takeFirst();
    this.settleTop(first);
    const showsAll = this.showsAll(first);
    const seen = orderOf(first.items);
    // What is known of a contact that was empty, or had one message, says nothing of the order; this page does.
    const showsOrder = this.order === 'unknown' && (!this.plan.isFirst || this.plan.known === 0);
    if (showsOrder && seen === 'newestFirst') {
      this.order = seen;
      if (!this.plan.isFirst && this.leadsOn(first) && !showsAll) await this.readOn(first);
      return;
    }
    if (showsAll) this.settleAll(first);
    else if (showsOrder && seen === 'oldestFirst' && !this.plan.isFirst) await this.readSecond(first);
    else this.reachesKnown = false;
  }

  private showsAll(first: PageRead): boolean {
    return this.showsEnd && first.ids.length >= this.length;
  }

  /** In no order, the first page is enough if it shows all there is. */
  private settleAll(first: PageRead): void {
    this.reachesKnown = this.showsAll(first);
    if (this.reachesKnown) this.length = first.ids.length;
  }

  /** Page 1 holds the oldest: where page 2 is empty, and nothing of it has moved to page 1, that is all there is. */
  private async readSecond(first: PageRead): Promise<void> {
    let top = first;
    for (let looks = 0; looks < MAX_LOOKS && top.count < PAGE_LIMIT; looks += 1) {
      const second = await this.take(2, top.limit);
      if (second.count > 0) break;
      top = await this.take(1, top.limit);
      if (top.fresh.length > 0) continue;
      this.order = 'oldestFirst';
      this.settleTail(0, 0, [top]);
      return;
    }
    this.reachesKnown = false;
  }

  private async takeLarge(): Promise<PageRead> {
    try {
      return await this.take(1, LARGE_LIMIT);
    } catch (error) {
      // Upstream may have ceased to honour what it honoured once.
      if (!mayBeAboutSize(error)) throw error;
      this.limit = PAGE_LIMIT;
      return this.takeFirst();
    }
  }

  /** Page 1, or as much of its beginning as can be read: one message may make the whole page fail. */
  private async takeFirst(): Promise<PageRead> {
    const limit = this.headLimit ?? PAGE_LIMIT;
    const { lastHeadLimit, failures } = this.plan;
    const halves = failures === 0 ? [limit >> 1] : [limit >> 1, limit >> 2, limit >> 3, 1];
    const parts = lastHeadLimit === undefined ? halves : [lastHeadLimit, ...halves];
    let failure: unknown;
    for (const part of [limit, ...new Set(parts)]) {
      if (part < 1) continue;
      try {
        const read = await this.pages.takePlain(1, part);
        if (part < limit) this.headLimit = part;
        return this.checked(read);
      } catch (error) {
        if (!mayBeAboutContent(error)) throw error;
        failure ??= error;
      }
    }
    throw failure;
  }

  private async readTop(): Promise<void> {
    const first = await this.takeFirst();
    this.settleTop(first);
    if (this.order === 'unsorted') {
      this.settleAll(first);
      return;
    }
    if (!this.leadsOn(first)) return;
    const isShort = first.count < this.pages.pageSize && this.headLimit === undefined;
    if (this.plan.known === 0 && isShort) return;
    await this.readOn(first);
  }

  private settleTop(first: PageRead): void {
    this.head = first.ids.slice(0, PAGE_LIMIT);
    this.shown = first.ids;
    const { pageSize } = this.pages;
    // Shorter than the pages of other contacts, it is not capped, unless this contact was seen to have more than it shows.
    const isCapped = this.length > pageSize;
    const longest = isCapped ? pageSize : Math.max(pageSize, Math.min(this.plan.longestPage, PAGE_LIMIT));
    const most = first.limit > PAGE_LIMIT ? first.limit : longest;
    this.showsEnd = first.count === 0 || (first.count < most && this.headLimit === undefined);
  }

  /** Whether more that is new may follow: also where something known stands among it, as what comes at once may shift. */
  private leadsOn({ endsNew, ids, count }: PageRead): boolean {
    return endsNew || (ids.length === 0 && count > 0);
  }

  /** Page 1 ends in something new: goes on to something known, or to the end. */
  private async readOn(first: PageRead): Promise<void> {
    const top = await this.enlarged(first);
    let last = top;
    let pages = 1;
    let unreadable = top.ids.length === 0 ? 1 : 0;
    let ended = false;
    while (this.leadsOn(last) && !ended) {
      if (pages >= MAX_PAGES || unreadable >= MAX_UNREADABLE_PAGES) {
        this.reachesKnown = false;
        break;
      }
      pages += 1;
      const next = await this.take(pages, top.limit);
      if (next.count === 0) {
        if (await this.pages.goesOn(last, pages)) continue;
        ended = true;
      } else if (next.repeats && next.ids.length > 0) ended = true;
      unreadable = next.ids.length === 0 ? unreadable + 1 : 0;
      if (!ended) last = next;
    }
    this.metNothingKnown = ended;
    if (pages > 1) await this.lookAgain(pages - 1, top.limit);
  }

  /** The first page again, larger, if upstream serves larger ones. */
  private async enlarged(first: PageRead): Promise<PageRead> {
    if (this.limit === PAGE_LIMIT || this.headLimit !== undefined || first.count < PAGE_LIMIT) return first;
    try {
      const larger = await this.take(1, LARGE_LIMIT);
      this.limit = larger.count > PAGE_LIMIT ? LARGE_LIMIT : PAGE_LIMIT;
      this.settleTop(larger);
      return { ...larger, limit: this.limit };
    } catch (error) {
      if (!mayBeAboutSize(error)) throw error;
      this.limit = PAGE_LIMIT;
      return first;
    }
  }

  /** Reads the first pages again while something new turns up on them: it slipped past between two pages. */
  private async lookAgain(count: number, limit: number): Promise<void> {
    for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
      let foundNew = false;
      for (let page = 1; page <= count; page += 1) {
        const read = await this.take(page, limit);
        if (page === 1) this.settleTop(read);
        foundNew ||= read.fresh.length > 0;
      }
      if (!foundNew) return;
    }
    this.reachesKnown = false;
  }

  /** Where the oldest come first: the stretch that was the last, and on from there. */
  private async readTail(): Promise<void> {
    for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
      const { pages, fresh } = await this.tailOnce();
      if (pages === 1 || !fresh) return;
    }
    this.reachesKnown = false;
  }

  private async tailOnce(): Promise<{ pages: number; fresh: boolean }> {
    const before = this.pages.requests;
    const { page, limit } = tailOf(this.length, this.pages.pageSize);
    const start = (page - 1) * limit;
    let first = page;
    let reads = [await this.take(page, limit)];
    // The list became shorter, or what stood before this stretch moved into it: back to something that is known.
    while (first > 1 && page - first < MAX_PAGES) {
      const isEmpty = reads[0]?.count === 0;
      if (!isEmpty && reads[0]?.startsNew !== true) break;
      first -= 1;
      const read = await this.take(first, limit);
      reads = isEmpty ? [read] : [read, ...reads];
    }
    await this.toTheEnd(reads, first + reads.length - 1);
    this.settleTail(start, (first - 1) * limit, reads);
    return { pages: this.pages.requests - before, fresh: reads.some((read) => read.fresh.length > 0) };
  }

  /** Reads on from the last page while pages are full. */
  private async toTheEnd(reads: PageRead[], from: number): Promise<void> {
    let last = reads.at(-1);
    for (let page = from + 1; last !== undefined && last.count >= last.limit; page += 1) {
      if (page - from > MAX_PAGES) {
        this.reachesKnown = false;
        return;
      }
      const next = await this.take(page, last.limit);
      if (next.count === 0) {
        if (!(await this.pages.goesOn(last, page))) return;
        continue;
      }
      if (next.repeats) return;
      reads.push(next);
      last = next;
    }
  }

  /** Everything from a place on is known now. */
  private settleTail(planned: number, from: number, reads: readonly PageRead[]): void {
    const ids = reads.flatMap((read) => read.ids);
    this.shown = ids.slice(Math.max(planned - from, 0));
    this.length = from + reads.reduce((sum, read) => sum + read.count, 0);
    const { page, limit } = tailOf(this.length, this.pages.pageSize);
    const start = (page - 1) * limit - from;
    // What stands before this stretch was not read: then the next read has nothing to compare with.
    this.head = start < 0 ? [] : ids.slice(start);
  }
}

/** Whether what was served is in another order than it was believed to be. */
export function contradicts(believed: PageOrder, stretch: readonly UpstreamMessage[]): boolean {
  const seen = orderOf(stretch);
  return believed !== 'unknown' && believed !== 'unsorted' && seen !== 'unknown' && seen !== believed;
}
