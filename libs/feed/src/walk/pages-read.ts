import type { IdSet } from './message-records.js';
import type { RowMessageCollector } from '#conversations';
import type { UpstreamMessage } from '#upstream';
import type { PageOrder } from './page-order.js';

/**
 * Result of a read of one or more pages of a contact's messages. The poll compares the result with the snapshots of
 * the messages, and then commits the differences.
 */
export interface PagesRead {
  /**
   * Messages that were read, each once and in its latest form, in the order in which they were first read.
   */
  served: readonly UpstreamMessage[];
  /** Order in which upstream is assumed to list the contact's messages. */
  order: PageOrder;
  /**
   * True if the list is sorted, but some messages are not where their timestamps put them. False only after a read of
   * all pages. Absent if the read does not show it.
   */
  hasMisplacedMessages?: boolean;
  /**
   * Ids of the messages in the new head, in the order in which upstream lists them. Absent if the stored head is
   * kept.
   */
  head?: readonly string[];
  /**
   * Number of messages in the list when it was last counted; see `PollState.length`. If the list is oldest first, new
   * messages appear from this offset on.
   */
  length: number;
  /** Number of messages on the longest page of this contact so far; see `PageReader.pageSize`. */
  pageSize: number;
  /** Number of messages on the longest page that upstream returned to this read. */
  longestPage: number;
  /**
   * Largest page limit that upstream is known to honour; 20 if upstream honours no larger limit. Absent while
   * unknown.
   */
  limit?: number;
  /** Reduced limit with which the first page was read. Present if a full first page could not be read. */
  headLimit?: number;
  /** True if upstream returned more messages on a page at the end of the list than were requested. */
  ignoresLimit?: boolean;
  /** Number of elements of the list that could not be read as messages. */
  skipped: number;
  /**
   * For each unreadable element, a text that identifies it; see `isPlaceholder` for messages that upstream did not
   * return.
   */
  unreadable: readonly string[];
  /**
   * Limit and digest of the first page. Present if no other page was read, and the first page contains no unreadable
   * element.
   */
  onlyPage?: { limit: number; digest: string };
  /**
   * In a read of the newest messages: time of the first reply. In a read of older messages: time of the latest reply.
   * By upstream's clock, in milliseconds since 1970. Absent if upstream did not send a `Date` header, or if the
   * latest reply was an error that means that the page does not exist.
   */
  date?: number;
  /**
   * Time of the first reply in a read of older messages, by upstream's clock, in milliseconds since 1970. Absent in a
   * read of the newest messages: {@link date} is then the time of the first reply.
   */
  firstDate?: number;
  /** How far upstream's clock is ahead of Redis' clock, in milliseconds; 0 if unknown. */
  upstreamAheadMs: number;
  /** Present if a read of all pages has reached its end. */
  fullRead?: FullRead;
  /**
   * True if volatile fields can be detected from this read, because the same pages were already read before.
   */
  detectsVolatility: boolean;
  /**
   * True if this read completed a flag check: it contained all messages whose flags (`delivered`, `read`) may still
   * change, or has reached the end of the list. False if no flag check was due.
   */
  unsettledRead: boolean;
  /**
   * True if a read of all pages is needed, because messages have disappeared or moved, or because this read may not
   * have found all new messages. False if such a read is due anyway, because the contact's baseline is not complete.
   */
  needsFullRead: boolean;
}

/** Result of a read of all pages. */
export interface FullRead {
  /** Ids of all messages that the pages contained. */
  seen: IdSet;
  /** Ids of the messages that were known before this read began. Only these messages can count as missing. */
  knownBefore: ReadonlySet<string>;
  /**
   * True if the read ended with an empty page and found no message twice. Probably no message then moved from page to
   * page, so that a message that was not seen is not in the list.
   */
  isStable: boolean;
  /** Data for the contact's row in the list of conversations, collected from the messages in {@link seen}. */
  rowMessages: RowMessageCollector;
  /** When the read began, in milliseconds since 1970 by Redis' clock. */
  startedAt: number;
  /** Value of `PollState.completeDueAt` when the read began. Absent if there was none. */
  dueAt?: number;
}
