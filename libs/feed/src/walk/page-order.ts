import type { UpstreamMessage } from '#upstream';

/**
 * Order in which upstream lists a contact's messages. `unknown` until two messages with different timestamps were
 * read; `unsorted` if the messages are not sorted by their timestamps.
 */
export type PageOrder = (typeof PAGE_ORDERS)[number];

/**
 * All page orders. The stored state of a contact contains an index in this list, so new orders must be added
 * at the end.
 */
export const PAGE_ORDERS = ['unknown', 'newestFirst', 'oldestFirst', 'unsorted'] as const;

/** Returns true if new messages appear on the first page of a list in this order. */
export function doesFirstPageShowNewestMessages(order: PageOrder): boolean {
  return order === 'newestFirst';
}

/**
 * Returns the messages sorted by timestamp, oldest first. Messages without a timestamp come last. Messages
 * with equal timestamps stay in the order of the list, which is first reversed if it is newest first.
 */
export function sortOldestFirst(served: readonly UpstreamMessage[], order: PageOrder): UpstreamMessage[] {
  const inTime = order === 'newestFirst' ? [...served].reverse() : [...served];
  return inTime.sort((a, b) => (a.timestamp ?? Infinity) - (b.timestamp ?? Infinity) || 0);
}
