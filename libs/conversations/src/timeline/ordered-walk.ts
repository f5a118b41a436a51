import {
  type MessagesWithoutGap,
  joinPagesWithoutGap,
  type PlacedMessage,
  type PlacedPage,
} from './connected-pages.js';
import { ExponentialSearch } from './exponential-search.js';
import type { Position } from '../position.js';
import { pageRequestFromIndex, type PageRequest, pageRequestUpToIndex } from './page-request.js';
import {
  type ListShape,
  MessagesUnavailableError,
  type MessagesPage,
  TimelinePageTimeoutError,
} from './ports.js';

/** Maximum page limit according to upstream's documentation. */
export const DOCUMENTED_MAX_MESSAGES_PER_PAGE = 20;
/**
 * Minimum page limit. Neighbouring pages must share messages, to show that no message between them is missing.
 * Smaller pages cannot share enough.
 */
const MIN_PAGE_LIMIT = 8;

/**
 * Thrown if a list of messages cannot be read in order of time: a message has no timestamp, the list is not
 * sorted by time, upstream's pages are too small, or the first pages that are read have only unreadable elements.
 */
export class CannotReadInTimeOrderError extends Error {
  constructor() {
    super('the messages cannot be read in order of time');
    this.name = 'CannotReadInTimeOrderError';
  }
}

/** What the feed has learned about the list of a contact's messages, if the list is sorted by time. */
export interface OrderedShape extends ListShape {
  order: 'newestFirst' | 'oldestFirst';
}

/** Where a walk (a read of a list page by page) begins. */
export interface WalkStart {
  /** Messages older than this position are wanted. Absent for the newest messages. */
  from?: Position;
  /** Index in upstream's list at which the walk begins to read. The wanted messages are expected near the index. */
  index?: number;
  /** Number of messages on each page, if upstream ignores the requested limit. */
  fixedSize?: number;
  /**
   * Maximum number of messages that upstream returns on a page. Present if earlier requests showed that upstream
   * returns fewer than {@link ListShape.maxLimit}.
   */
  maxLimit?: number;
}

/** What a walk (a read of a list page by page) found. */
export interface WalkResult extends Pick<MessagesWithoutGap, 'messages' | 'edge'> {
  /** False if the walk did not find where the wanted messages begin. {@link messages} is then empty. */
  isConnected: boolean;
  fixedSize: number | undefined;
  maxLimit: number;
  /** True if the walk ended early because a request failed or the time limit was reached. */
  isInterrupted: boolean;
  /**
   * Returns the index in upstream's list at which the walk for the next page of the timeline starts. The index is an
   * estimate: the message at this index is probably a little newer than `position`.
   * @param position where the next page of the timeline begins; undefined if the walk did not find that out
   */
  indexBefore(position: Position | undefined): number;
}

/** Reads one page. @throws {MessagesUnavailableError} */
export type ReadPage = (page: number, limit: number) => Promise<MessagesPage>;

/**
 * Reads the messages older than a position from a list that is sorted by time, with at most `maxRequests` requests.
 * Each page costs a request, so the read ends as soon as at least half of the wanted messages are found; the next
 * page of the timeline contains the other messages.
 * @throws {CannotReadInTimeOrderError}
 * @throws {MessagesUnavailableError} if no page could be read
 */
export async function readSortedMessageList(
  read: ReadPage,
  shape: OrderedShape,
  start: WalkStart,
  wanted: number,
  maxRequests: number,
): Promise<WalkResult> {
  if (shape.maxLimit < MIN_PAGE_LIMIT && shape.length >= shape.maxLimit)
    throw new CannotReadInTimeOrderError();
  const walk = new OrderedWalk(read, shape, start, wanted);
  return walk.run(maxRequests);
}

/** A page together with the request that returned it. */
interface RequestedPage extends PlacedPage {
  request: PageRequest;
}

class OrderedWalk {
  private readonly pages: RequestedPage[] = [];
  private connected: MessagesWithoutGap;
  private maxLimit: number;
  private fixedSize: number | undefined;
  private requests = 0;
  private isInterrupted = false;
  private readonly search: ExponentialSearch;
  /**
   * A page with fewer messages than requested, if it may be the last one of the list. The next request reads
   * the page after it to find out.
   */
  private uncertainEnd: RequestedPage | undefined;
  /**
   * Two neighbouring pages that share no message, for example because the elements that they share are unreadable. A
   * message may have moved from the older page to the newer page after the newer page was read. So the newer page
   * must be read again.
   */
  private unjoined: { newer: RequestedPage; older: RequestedPage } | undefined;

  constructor(
    private readonly read: ReadPage,
    private readonly shape: OrderedShape,
    private readonly start: WalkStart,
    private readonly wanted: number,
  ) {
    this.maxLimit = this.startLimit();
    this.fixedSize = start.fixedSize;
    this.search = new ExponentialSearch(
      start.index ?? (this.isNewestFirst ? 0 : Math.max(shape.length - 1, 0)),
    );
    this.connected = joinPagesWithoutGap([], start.from);
  }

  async run(maxRequests: number): Promise<WalkResult> {
    while (this.requests < maxRequests && !this.isEnough()) {
      try {
        await this.readAndAddPage(this.nextRequest());
      } catch (error) {
        if (!(error instanceof MessagesUnavailableError)) throw error;
        if (error.mayBeCausedByPageSize && this.maxLimit > DOCUMENTED_MAX_MESSAGES_PER_PAGE) {
          this.maxLimit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
          continue;
        }
        // If the walk has kept no page, it throws the error, except a timeout. A timeout occurs only after a page
        // was read. The next walk then uses what this walk learned from that page, such as the size of upstream's
        // pages.
        if (this.pages.length === 0 && !(error instanceof TimelinePageTimeoutError)) throw error;
        this.isInterrupted = true;
        break;
      }
    }
    const { messages, edge, isConnected, last } = this.connected;
    const { fixedSize, maxLimit, isInterrupted } = this;
    // If pages were used but do not connect, the newest pages have only unreadable elements. Another walk would make
    // the same requests, unless this walk learned the size of upstream's pages.
    const hasLearned = fixedSize !== this.start.fixedSize || maxLimit !== this.startLimit();
    if (last !== undefined && !isConnected && !isInterrupted && !hasLearned)
      throw new CannotReadInTimeOrderError();
    return {
      ...{ messages, edge, isConnected, fixedSize, maxLimit, isInterrupted },
      indexBefore: (position) => this.indexBefore(position),
    };
  }

  /** Returns the maximum page limit at the start of the walk. */
  private startLimit(): number {
    return Math.min(this.shape.maxLimit, this.start.maxLimit ?? Infinity);
  }

  private get isNewestFirst(): boolean {
    return this.shape.order === 'newestFirst';
  }

  private isEnough(): boolean {
    const { messages, edge, isConnected } = this.connected;
    if (this.unjoined !== undefined) return false;
    return isConnected && (edge === undefined || messages.length >= Math.ceil(this.wanted / 2));
  }

  /**
   * Number of messages that a page should share with the pages that were read before. The number is above one,
   * because the pages must still overlap if shared messages are deleted between the requests.
   */
  private get overlap(): number {
    return Math.min(Math.max(this.maxLimit >> 3, 2), 8);
  }

  private nextRequest(): PageRequest {
    if (this.uncertainEnd !== undefined) {
      const { page, limit } = this.uncertainEnd.request;
      return { page: page + 1, limit };
    }
    if (this.unjoined !== undefined) return this.unjoined.newer.request;
    const { last } = this.connected;
    if (last === undefined) return this.requestAt(this.search.index);
    if (this.fixedSize !== undefined) return this.neighbourOf(last as RequestedPage);
    return this.requestAt(this.isNewestFirst ? last.start + last.count - 1 : last.start);
  }

  private requestAt(index: number): PageRequest {
    if (this.fixedSize !== undefined)
      return { page: Math.floor(index / this.fixedSize) + 1, limit: DOCUMENTED_MAX_MESSAGES_PER_PAGE };
    let best: { request: PageRequest; gain: number } | undefined;
    for (let overlap = this.overlap; overlap >= 0; overlap -= 1) {
      const request = this.requestWithOverlap(index, overlap);
      const first = (request.page - 1) * request.limit;
      const gain = this.isNewestFirst ? first + request.limit - 1 - index : index - first;
      if (best === undefined || gain > best.gain) best = { request, gain };
      if (gain >= Math.min(this.wanted, this.maxLimit / 2)) break;
    }
    return best?.request ?? { page: 1, limit: this.maxLimit };
  }

  private requestWithOverlap(index: number, overlap: number): PageRequest {
    const reach = overlap + this.wanted + 2;
    if (this.isNewestFirst) return pageRequestFromIndex(Math.max(index - overlap, 0), reach, this.maxLimit);
    return pageRequestUpToIndex(index + overlap, reach, this.maxLimit);
  }

  /** Returns the request for the neighbouring page with older messages. */
  private neighbourOf({ request: { page, limit } }: RequestedPage): PageRequest {
    return { page: this.isNewestFirst ? page + 1 : Math.max(page - 1, 1), limit };
  }

  private async readAndAddPage(request: PageRequest): Promise<void> {
    this.requests += 1;
    const reply = await this.read(request.page, request.limit);
    if (reply.count > request.limit && this.fixedSize === undefined) {
      this.fixedSize = reply.count;
      this.uncertainEnd = undefined;
      this.dropPages();
    }
    const before = this.connected.last;
    const page = this.placedPageOf(request, reply);
    const judged = this.settleEnd(page);
    this.join(page);
    const isLocated = request.limit <= this.maxLimit || this.fixedSize !== undefined;
    if ((page.count > 0 && isLocated) || request.page === 1) this.pages.push(page);
    this.connected = joinPagesWithoutGap(this.pages, this.start.from);
    const { last } = this.connected;
    // Without a message, the page cannot be placed in the timeline.
    const hasOnlyUnreadable = page.count > 0 && page.messages.length === 0 && !page.hasOldest;
    if (hasOnlyUnreadable && isLocated && last === undefined && this.uncertainEnd === undefined)
      throw new CannotReadInTimeOrderError();
    if (!this.connected.isConnected && isLocated) this.adjustSearch(judged);
    this.noteNeighbours(page);
    if (last !== undefined && last === before && isLocated) this.noteUnreadable(last as RequestedPage, page);
  }

  private placedPageOf(request: PageRequest, { items, count }: MessagesPage): RequestedPage {
    const messages = items.map((message): PlacedMessage => {
      if (message.timestamp === undefined) throw new CannotReadInTimeOrderError();
      return { message, position: { at: message.timestamp, id: message.id } };
    });
    if (!this.isNewestFirst) messages.reverse();
    for (const [i, { position }] of messages.entries())
      if (i > 0 && position.at > (messages[i - 1]?.position.at ?? Infinity))
        throw new CannotReadInTimeOrderError();
    const isFirst = request.page === 1;
    const size = this.fixedSize ?? request.limit;
    const ends = this.endsList(request, count);
    const hasOldest = this.isNewestFirst ? ends : isFirst;
    return {
      ...{ request, messages, count, start: (request.page - 1) * size, hasOldest },
      hasNewest: this.isNewestFirst ? isFirst : ends,
    };
  }

  /** Returns true if the page is certainly the last one of the list. */
  private endsList({ page, limit }: PageRequest, count: number): boolean {
    if (count === 0) return page === 1;
    const start = (page - 1) * (this.fixedSize ?? limit);
    // Upstream may have reduced the page to the documented maximum. So more messages may follow.
    if (
      this.fixedSize === undefined &&
      limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE &&
      count === DOCUMENTED_MAX_MESSAGES_PER_PAGE
    )
      return false;
    const full = this.fixedSize ?? Math.min(limit, this.shape.fullPage);
    return count < full && start + count >= this.shape.length;
  }

  /**
   * If there is an {@link uncertainEnd}, finds out why it has fewer messages than requested. `page` is then the page
   * after it. If `page` is empty, `uncertainEnd` is the last page of the list, and is returned. If `page` is not
   * empty, upstream returns no larger pages than `uncertainEnd`.
   *
   * Otherwise returns `page`, which becomes the `uncertainEnd` if it has fewer messages than requested and may be the
   * last page.
   */
  private settleEnd(page: RequestedPage): RequestedPage {
    const before = this.uncertainEnd;
    this.uncertainEnd = undefined;
    if (before !== undefined && page.count === 0) {
      if (this.isNewestFirst) before.hasOldest = true;
      else before.hasNewest = true;
      return before;
    }
    if (before !== undefined && this.fixedSize === undefined) this.learnMaxLimit(before.count);
    const { request, count } = page;
    const isLast = this.isNewestFirst ? page.hasOldest : page.hasNewest;
    const size = this.fixedSize ?? Math.min(request.limit, this.maxLimit);
    if (count > 0 && !isLast && count < size) this.uncertainEnd = page;
    return page;
  }

  /**
   * Lowers the page limit, and discards the pages that were read so far. The indexes of their messages were
   * calculated from the higher limit, so they are wrong.
   * @throws {CannotReadInTimeOrderError} if the new limit is below {@link MIN_PAGE_LIMIT}
   */
  private learnMaxLimit(maxLimit: number): void {
    if (maxLimit < MIN_PAGE_LIMIT) throw new CannotReadInTimeOrderError();
    this.maxLimit = maxLimit;
    this.dropPages();
  }

  private dropPages(): void {
    this.pages.length = 0;
    this.unjoined = undefined;
  }

  /**
   * The newer page in {@link unjoined} must be read a second time. If `page` is this second read, records that the
   * older page in {@link unjoined} follows `page` without a gap. Otherwise does nothing.
   */
  private join(page: RequestedPage): void {
    if (this.unjoined === undefined) return;
    const { newer, older } = this.unjoined;
    // This page is not the newer page of `unjoined`: it was read to find out whether the page before it is the last
    // one. The newer page is read again later.
    const { request } = newer;
    if (page.request.page !== request.page || page.request.limit !== request.limit) return;
    // A page with only unreadable elements is connected to a newer page only by the `next` of that page. So `next` is
    // set to the second read, which may contain a message that moved to the page since the first read.
    if (newer.messages.length === 0) for (const one of this.pages) if (one.next === newer) one.next = page;
    newer.next = older;
    page.next = older;
    this.unjoined = undefined;
  }

  private noteNeighbours(page: RequestedPage): void {
    if (this.fixedSize === undefined || page.count === 0 || page.next !== undefined) return;
    const newer = this.connected.last as RequestedPage | undefined;
    if (newer === undefined || newer === page) return;
    const expected = this.neighbourOf(newer).page;
    if (page.request.page === expected && expected !== newer.request.page)
      this.unjoined = { newer, older: page };
  }

  /**
   * Called if two pages share no message. If they are neighbours in upstream's list nevertheless, and one of them
   * contains unreadable elements, notes them in {@link unjoined}.
   */
  private noteUnreadable(newer: RequestedPage, page: RequestedPage): void {
    if (this.fixedSize !== undefined || this.unjoined !== undefined || page.next !== undefined) return;
    if ([newer, page].every(({ count, messages }) => count === messages.length)) return;
    const [newerEnd, end] = [newer, page].map(({ start, count }) => start + count) as [number, number];
    const follows = this.isNewestFirst
      ? page.start <= newerEnd && end > newerEnd
      : end >= newer.start && page.start < newer.start;
    if (follows) this.unjoined = { newer, older: page };
  }

  /** Chooses the next index to read in upstream's list if the wanted messages do not begin on the given page. */
  private adjustSearch({ start, count, messages }: RequestedPage): void {
    if (this.uncertainEnd !== undefined) return;
    const { from } = this.start;
    const newest = messages[0];
    const isTooNew = newest !== undefined && from !== undefined && newest.position.at > from.at;
    const isBehindEnd = count === 0;
    const needsHigherIndex = this.isNewestFirst ? isTooNew : !isTooNew && !isBehindEnd;
    if (needsHigherIndex) this.search.raise(start + count, this.maxLimit);
    else this.search.lower(start - 1, this.maxLimit);
  }

  private indexBefore(position: Position | undefined): number {
    if (!this.connected.isConnected || position === undefined) return this.search.index;
    let best: { index: number; at: number } | undefined;
    for (const { start, messages } of this.pages) {
      for (const [i, { position: one }] of messages.entries()) {
        if (one.at <= position.at) break;
        const index = start + (this.isNewestFirst ? i : messages.length - 1 - i);
        if (best === undefined || one.at <= best.at) best = { index, at: one.at };
      }
    }
    return best?.index ?? this.search.index;
  }
}
