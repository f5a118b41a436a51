import type { PageOrder } from './page-order.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE, LARGE_PAGE_LIMIT } from './page-limits.js';

/** What earlier reads found out about a contact's list of messages, to plan a read of the newest messages. */
export interface HeadPlan {
  order: PageOrder;
  /** True if earlier reads found that some messages of a sorted list are not where their timestamps put them. */
  hasMisplacedMessages: boolean;
  /** Number of messages of the contact that are known before this read. */
  known: number;
  /** True if so many messages are known that a list without any of them means that upstream has replaced them all. */
  knowsMany: boolean;
  /**
   * Number of messages in the contact's list at the last read of all pages. If the list is oldest first, the
   * number at the last read of the newest messages.
   */
  length: number;
  /**
   * Number of messages on the longest page of this contact so far. A page with fewer messages is the last
   * one.
   */
  pageSize: number;
  /** Number of messages on the longest page of any contact of the account so far. */
  longestPage: number;
  /**
   * Largest page limit that upstream is known to honour; 20 if upstream honours no larger limit. Absent while
   * unknown.
   */
  limit?: number;
  /** Reduced limit of the first page, present while a full first page cannot be read. */
  headLimit?: number;
  /**
   * Reduced limit with which an earlier read of page 1 succeeded. It is used again if page 1 cannot be read with the
   * full limit.
   */
  lastHeadLimit?: number;
  /**
   * True until all pages of the contact have been read once, and again from the start of a new baseline. While true,
   * a read of all pages follows this read.
   */
  isFirst: boolean;
  /** Number of consecutive failed reads of the newest messages before this read. */
  failures: number;
  /** True if the read looks up the messages of sends. */
  isLookup: boolean;
  /** True if an earlier read found a message that upstream fails to return. */
  hasPermanentlyUnreadableMessage: boolean;
  /** True if upstream is known to ignore the limit. Each page then has `pageSize` messages. */
  ignoresLimit: boolean;
}

/**
 * Returns the largest page limit that upstream is expected to honour for the contact. If the contact's own limit is
 * unknown, returns {@link LARGE_PAGE_LIMIT} if upstream honoured it for another contact, and undefined otherwise.
 */
export function knownLimitOf({ limit, longestPage }: HeadPlan): number | undefined {
  return limit ?? (longestPage > DOCUMENTED_MAX_MESSAGES_PER_PAGE ? LARGE_PAGE_LIMIT : undefined);
}

/**
 * Returns the limit of the first request of a read of the newest messages. The result does not apply to an
 * oldest-first list, because a read of that list does not begin with page 1.
 */
export function firstPageLimitOf(plan: HeadPlan): number {
  if (plan.headLimit !== undefined) return plan.headLimit;
  const isLarge = plan.order !== 'newestFirst' && knownLimitOf(plan) === LARGE_PAGE_LIMIT;
  return isLarge ? LARGE_PAGE_LIMIT : DOCUMENTED_MAX_MESSAGES_PER_PAGE;
}
