import type { UpstreamMessage } from '#upstream';
import type { PageOrder } from './page-order.js';

/** Result of a read of some of a contact's pages, to be compared with the snapshot and committed. */
export interface PagesRead {
  /** Messages, each once, in its latest form, in upstream's order. */
  served: readonly UpstreamMessage[];
  /** Assumed order of the message list. */
  order: PageOrder;
  /** Ids at the end of the list where new messages appear, in upstream's order; absent if that end was not read. */
  head?: readonly string[];
  /** Number of messages in the list. With oldest first, new messages appear from this offset on. */
  length: number;
  /** Number of messages on the contact's longest page. */
  pageSize: number;
  /** Number of messages on the longest page of this read, whatever its limit. */
  longestPage: number;
  /** Page limit above 20 that upstream honours, or 20 if upstream honours none; absent while unknown. */
  limit?: number;
  /** Limit of the first page if a full page could not be read. */
  headLimit?: number;
  /** Number of unreadable elements. */
  skipped: number;
  /** Unreadable elements, each described by a text that identifies it. */
  unreadable: readonly string[];
  /** Upstream's time, in milliseconds since 1970; absent if upstream did not send a `Date`. */
  date?: number;
  /** Present at the end of a read of all pages. */
  fullRead?: FullRead;
  /** True if the read covers the same pages as the previous read: then volatile fields can be detected. */
  detectsVolatility: boolean;
  /** True if all unsettled messages were looked up. */
  unsettledLookedUp: boolean;
  /** True if a read of all pages is needed: messages are missing or not where they were expected. */
  needsFullRead: boolean;
}

/** Result of a read of all pages. */
export interface FullRead {
  /** Ids of the messages that the pages contained. */
  seen: ReadonlySet<string>;
  /** Ids that were known before the read of older messages: only these messages can be missing. */
  knownBefore: ReadonlySet<string>;
  /** True if no message moved from page to page during the read: messages that were not seen do not exist. */
  isStable: boolean;
}
