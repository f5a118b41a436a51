import { isMissingPageError, type MessagePage, type UpstreamMessage } from '#upstream';
import { MessageRecords, type RecordedPage } from './message-records.js';
import { mayBeCausedBySingleMessage } from './page-errors.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE } from './page-limits.js';
import {
  FAILING_MESSAGE_PLACEHOLDER,
  readFailedPageInParts,
  withRetryOfFailedPagesInParts,
  type IsMessageFault,
  type ReadPage,
} from './read-in-parts.js';
import type { PageRequest } from './page-tail.js';

/**
 * Minimum page size that is assumed. If it were 1, the only message of a contact would look like a full page,
 * and each read of the newest messages would cost a second request.
 */
const MIN_PAGE_SIZE = 2;

/** Returns those of the given message ids that are already known. */
export type FindKnownIds = (ids: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * One page of messages, compared with the messages that were known before this read and with the pages that
 * this read has returned so far.
 */
export interface PageRead extends RecordedPage {
  items: readonly UpstreamMessage[];
  ids: readonly string[];
  limit: number;
  /** Number of elements on the page, including unreadable ones. */
  count: number;
  /**
   * True if the page is probably full: it has `limit` elements, or no page so far was longer. More pages may then
   * follow.
   */
  full: boolean;
  /** Ids of the messages that were neither known before this read nor on an earlier page of this read. */
  newIds: readonly string[];
}

/** Time of one reply of upstream, by two clocks. */
export interface ReplyTime {
  /** Time in the `Date` header of the reply, in milliseconds since 1970 by upstream's clock. */
  date: number;
  /** When the headers of the reply arrived, by `performance.now()`. */
  arrivedAt: number;
}

/** Returns the time of a reply that was just read; undefined if the reply had no `Date` header. */
export function replyTimeOf({
  date,
  arrivedAt = performance.now(),
}: Pick<MessagePage, 'date' | 'arrivedAt'>): ReplyTime | undefined {
  return date === undefined ? undefined : { date, arrivedAt };
}

/** What earlier reads have shown about the pages of a contact. */
export interface PageSizes {
  /**
   * Number of messages on the longest page of the contact so far. A page with fewer messages is the last one.
   */
  pageSize: number;
}

/** Reads pages of one contact, and records which messages the pages contained. */
export class PageReader {
  /**
   * Messages that were read since the last call of {@link release}, by id: each message in its latest form, in the
   * order in which the messages were first read.
   */
  readonly seen = new Map<string, UpstreamMessage>();
  readonly records = new MessageRecords();
  /** For each unreadable element, a text that identifies it. */
  readonly unreadable = new Set<string>();
  pageSize: number;
  /** Number of messages on the longest page that this reader has read, whatever limit was requested. */
  longestPage = 0;
  /** Time of the first reply with a `Date` header. */
  firstReply: ReplyTime | undefined;
  /**
   * Time of the latest reply. Undefined if that reply had no `Date` header, or was an error that means that the page
   * does not exist.
   */
  latestReply: ReplyTime | undefined;
  /** Number of unreadable elements since the last call of {@link beginPass}. */
  skipped = 0;
  /** True if the limit of the last request was above the documented page size. */
  askedForLargePage = false;
  /** Number of different messages that this reader has read and that were known before this read. */
  knownCount = 0;
  /** Number of requests that this reader has sent to upstream. */
  requests = 0;
  /**
   * Limit and digest of the first page. Undefined if other pages were read too, or if the first page contains an
   * unreadable element.
   */
  onlyPage: { limit: number; digest: string } | undefined;
  /** Number of unreadable elements on the most recently read page. */
  private lastSkipped = 0;
  /** Number of messages on the longest page that upstream returned for a limit above the documented maximum. */
  private largestPage = 0;
  private readonly read: ReadPage;
  private readonly readInPartsIfTooLarge: ReadPage;
  private readonly readCounted: ReadPage;

  constructor(
    read: ReadPage,
    private readonly known: FindKnownIds,
    { pageSize }: PageSizes,
    isMessageFault?: IsMessageFault,
  ) {
    this.pageSize = Math.max(pageSize, MIN_PAGE_SIZE);
    this.readCounted = async (page, limit) => {
      this.askedForLargePage = limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE;
      this.requests += 1;
      try {
        const reply = await read(page, limit);
        this.latestReply = replyTimeOf(reply);
        this.firstReply ??= this.latestReply;
        return reply;
      } catch (error) {
        if (page === 1 || !isMissingPageError(error)) throw error;
        // The page is after the last one, unless the contact does not exist. If no page was read yet, a request for
        // one message shows whether the contact exists.
        if (this.records.ids.size === 0) {
          this.requests += 1;
          await read(1, 1);
        }
        this.latestReply = undefined;
        return { items: [], skipped: 0 };
      }
    };
    const sizeOf = (limit: number): number =>
      limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE ? this.largestPage || limit : Math.min(limit, this.pageSize);
    this.readInPartsIfTooLarge = withRetryOfFailedPagesInParts(this.readCounted, sizeOf);
    this.read = withRetryOfFailedPagesInParts(this.readCounted, sizeOf, isMessageFault);
  }

  /**
   * Must be called before the list is read again from its first page. After this call, a page or message counts as
   * repeated only if it is read twice after the call.
   */
  beginPass(): void {
    this.records.beginPass();
    this.skipped = 0;
    this.lastSkipped = 0;
  }

  /**
   * Empties {@link seen} and {@link unreadable} after their content was committed, to save memory. The ids of
   * the messages are kept.
   */
  release(): void {
    this.seen.clear();
    this.unreadable.clear();
  }

  /**
   * Undoes what the most recent read of a page recorded. If the page is read again, its messages then do not count as
   * repeated.
   */
  undoLastPage(): void {
    this.records.undoLastPage();
    this.skipped -= this.lastSkipped;
    this.lastSkipped = 0;
  }

  /**
   * Reads a page. If the reply is too large, or if `isMessageFault` says that a single message may have caused the
   * error, reads the page in parts. Throws any other error.
   */
  async readPage(page: number, limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE): Promise<PageRead> {
    return this.record(await this.read(page, limit), page, limit);
  }

  /**
   * Reads a page. If the reply is too large, reads the page in parts. Throws any other error, even if a single
   * message may have caused it.
   */
  async readPageOrThrow(page: number, limit: number): Promise<PageRead> {
    return this.record(await this.readInPartsIfTooLarge(page, limit), page, limit);
  }

  /**
   * Reads a page in parts, after upstream failed to return it. Skips the messages that cannot be read on their own.
   * @param limit limit with which the page was requested
   * @param size number of messages on the page, at most `limit`
   * @param failure error of the request for the page
   * @throws `failure` if no message of the page can be read, because then the cause is not a single message
   */
  async readPageInParts(
    { page, limit }: PageRequest,
    size: number,
    failure: unknown,
    doesFirstMessageFail = false,
  ): Promise<PageRead> {
    const read = await readFailedPageInParts(
      this.readCounted,
      { page, limit: size },
      failure,
      mayBeCausedBySingleMessage,
      doesFirstMessageFail,
    );
    return this.record(read, page, limit);
  }

  /**
   * Returns a page that contains one unreadable element, in place of a message that upstream fails to return.
   */
  skippedMessage(): PageRead {
    this.skipped += 1;
    this.lastSkipped = 1;
    this.unreadable.add(FAILING_MESSAGE_PLACEHOLDER);
    const recorded = this.records.add([], []);
    return {
      ...{ items: [], ids: [], newIds: [], limit: 1, count: 1, full: false },
      ...recorded,
      repeats: false,
    };
  }

  /** Combines the parts of a page that were read separately into one page. */
  joined(parts: readonly PageRead[], limit: number): PageRead {
    const count = parts.reduce((sum, part) => sum + part.count, 0);
    return {
      items: parts.flatMap(({ items }) => items),
      ids: parts.flatMap(({ ids }) => ids),
      newIds: parts.flatMap(({ newIds }) => newIds),
      added: new Set(parts.flatMap(({ added }) => [...added])),
      ...{ limit, count, full: count >= limit },
      lastIsNew: parts.at(-1)?.lastIsNew === true,
      firstIsNew: parts[0]?.firstIsNew === true,
      repeats: parts.every(({ repeats }) => repeats),
    };
  }

  private async record(read: MessagePage, page: number, limit: number): Promise<PageRead> {
    const { items, skipped, unreadable = [], digest } = read;
    const isOnly = this.requests === 1 && page === 1 && skipped === 0 && digest !== undefined;
    this.onlyPage = isOnly ? { limit, digest } : undefined;
    this.skipped += skipped;
    this.lastSkipped = skipped;
    for (const element of unreadable) this.unreadable.add(element);
    const count = items.length + skipped;
    // Unreadable elements are not counted, so that `longestPage` is never too large. If it were, a full page would
    // have fewer messages than `longestPage`, and would be mistaken for the last page of the list.
    this.longestPage = Math.max(this.longestPage, items.length);
    if (limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE) this.largestPage = Math.max(this.largestPage, items.length);
    const countWithDocumentedLimit =
      limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE
        ? Math.min(items.length, DOCUMENTED_MAX_MESSAGES_PER_PAGE)
        : items.length;
    this.pageSize = Math.max(this.pageSize, countWithDocumentedLimit);
    const full =
      count >= (limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE ? this.largestPage : Math.min(this.pageSize, limit));
    const ids = items.map(({ id }) => id);
    const unseen = ids.filter((id) => !this.records.ids.has(id));
    const known = unseen.length === 0 ? new Set<string>() : await this.known(unseen);
    const newIds = unseen.filter((id) => !known.has(id));
    this.knownCount += known.size;
    const recorded = this.records.add(ids, newIds);
    for (const message of items) this.seen.set(message.id, message);
    return { items, ids, limit, count, full, newIds, ...recorded };
  }

  /**
   * Returns true if the list continues after an empty page. Checks this with one more request if the page before was
   * full, because an empty page after a full one need not be the end of the list.
   * @param last the page before the empty page
   * @param empty number of the empty page
   */
  async continuesAfter(last: PageRead, empty: number): Promise<boolean> {
    if (!last.full) return false;
    const { items, skipped } = await this.read(empty + 1, last.limit);
    return items.length + skipped > 0;
  }
}
