import type { MessagePage, UpstreamMessage } from '#upstream';
import type { KnownMessage } from '../snapshot/known-message.js';
import { MessageRecords, type RecordedPage } from './message-records.js';
import { mayBeCausedBySingleMessage } from './page-errors.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE } from './page-limits.js';
import { type ContactSource, PageRequests } from './page-requests.js';
import type { PageRequest } from './page-tail.js';
import {
  FAILING_MESSAGE_PLACEHOLDER,
  readFailedPageInParts,
  readInPartsIfNeeded,
  type IsMessageFault,
} from './read-in-parts.js';

/**
 * Minimum page size that is assumed. If it were 1, the only message of a contact would look like a full page,
 * and each read of the newest messages would cost a second request.
 */
const MIN_PAGE_SIZE = 2;

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
  /** Snapshots of the known messages that were on no earlier page of this read, by message id. */
  snapshots: ReadonlyMap<string, KnownMessage>;
}

/** Reads pages of one contact, and records which messages the pages contained. */
export class PageReader {
  /**
   * Messages that were read since the last call of {@link release}, by id: each message in its latest form, in the
   * order in which the messages were first read.
   */
  readonly seen = new Map<string, UpstreamMessage>();
  /** Snapshots of the messages in {@link seen} that were known before this read, by message id. */
  readonly snapshots = new Map<string, KnownMessage>();
  readonly records = new MessageRecords();
  readonly requests: PageRequests;
  /** For each unreadable element, a text that identifies it. */
  readonly unreadable = new Set<string>();
  /**
   * Number of messages on the longest page of the contact so far, at least {@link MIN_PAGE_SIZE}. A page that was
   * requested with a limit above the documented maximum counts at most as that maximum. A page with fewer messages is
   * the last one.
   */
  pageSize: number;
  /** Number of messages on the longest page that this reader has read, whatever limit was requested. */
  longestPage = 0;
  /** Number of unreadable elements since the last call of {@link beginPass}. */
  skipped = 0;
  /**
   * Limit and digest of the first page. Undefined if other pages were read too, or if the first page contains an
   * unreadable element.
   */
  onlyPage: { limit: number; digest: string } | undefined;
  /** Number of unreadable elements on the most recently read page. */
  private lastSkipped = 0;
  /** Number of messages on the longest page that upstream returned for a limit above the documented maximum. */
  private largestPage = 0;

  /** @param pageSize number of messages on the longest page of the contact before this read */
  constructor(
    private readonly contact: ContactSource,
    pageSize: number,
    private readonly isMessageFault: IsMessageFault = () => false,
  ) {
    this.requests = new PageRequests(contact);
    this.pageSize = Math.max(pageSize, MIN_PAGE_SIZE);
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
   * Empties {@link seen}, {@link snapshots} and {@link unreadable} after their content was committed, to save memory.
   * The ids of the messages are kept.
   */
  release(): void {
    this.seen.clear();
    this.snapshots.clear();
    this.unreadable.clear();
  }

  /**
   * Must be called before the page that was read last is read again. The messages of the page then do not count as
   * repeated, and its unreadable elements are not counted twice.
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
    return this.record(await this.requestPage(page, limit, this.isMessageFault), page, limit);
  }

  /**
   * Reads a page. If the reply is too large, reads the page in parts. Throws any other error, even if a single
   * message may have caused it.
   */
  async readPageOrThrow(page: number, limit: number): Promise<PageRead> {
    return this.record(await this.requestPage(page, limit), page, limit);
  }

  /**
   * Reads a page in parts, after upstream failed to return it. Skips the messages that cannot be read on their own.
   * @param limit limit with which the page was requested
   * @param size number of messages on the page, at most `limit`
   * @param failure error of the request for the page
   * @param doesFirstMessageFail true if the first message of the page could not be read on its own
   * @throws `failure` in the cases of {@link readFailedPageInParts}: a single message is probably not the cause
   */
  async readPageInParts(
    { page, limit }: PageRequest,
    size: number,
    failure: unknown,
    doesFirstMessageFail = false,
  ): Promise<PageRead> {
    const read = await readFailedPageInParts(
      this.requests,
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
      ...{ items: [], ids: [], newIds: [], snapshots: new Map(), limit: 1, count: 1, full: false },
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
      snapshots: new Map(parts.flatMap(({ snapshots }) => [...snapshots])),
      added: new Set(parts.flatMap(({ added }) => [...added])),
      ...{ limit, count, full: count >= limit },
      lastIsNew: parts.at(-1)?.lastIsNew === true,
      firstIsNew: parts[0]?.firstIsNew === true,
      repeats: parts.every(({ repeats }) => repeats),
    };
  }

  private async record(read: MessagePage, page: number, limit: number): Promise<PageRead> {
    const { items, skipped, unreadable = [], digest } = read;
    const isOnly = this.requests.count === 1 && page === 1 && skipped === 0 && digest !== undefined;
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
    const snapshots = await this.snapshotsOf(unseen);
    const newIds = unseen.filter((id) => !snapshots.has(id));
    const recorded = this.records.add(ids, newIds);
    for (const message of items) this.seen.set(message.id, message);
    for (const [id, snapshot] of snapshots) this.snapshots.set(id, snapshot);
    return { items, ids, limit, count, full, newIds, snapshots, ...recorded };
  }

  private async snapshotsOf(ids: readonly string[]): Promise<ReadonlyMap<string, KnownMessage>> {
    const { store, account, contactId } = this.contact;
    if (store === undefined || ids.length === 0) return new Map();
    return store.knownMessages(account, contactId, ids);
  }

  private requestPage(page: number, limit: number, isMessageFault?: IsMessageFault): Promise<MessagePage> {
    const size =
      limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE ? this.largestPage || limit : Math.min(limit, this.pageSize);
    return readInPartsIfNeeded(this.requests, { page, limit }, page === 1 ? limit : size, isMessageFault);
  }

  /**
   * Returns true if the list continues after an empty page. Checks this with one more request if the page before was
   * full, because an empty page after a full one need not be the end of the list.
   * @param last the page before the empty page
   * @param empty number of the empty page
   */
  async continuesAfter(last: PageRead, empty: number): Promise<boolean> {
    if (!last.full) return false;
    const { items, skipped } = await this.requestPage(empty + 1, last.limit, this.isMessageFault);
    return items.length + skipped > 0;
  }
}
