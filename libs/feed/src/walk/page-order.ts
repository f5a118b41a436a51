import type { UpstreamMessage } from '#upstream';
/**
 * Order in which upstream lists a contact's messages. `unknown` until two messages with different timestamps
 * were read.
 */
export type PageOrder = (typeof PAGE_ORDERS)[number];

/**
 * All page orders. The stored state of a contact contains an index in this list, so new orders must be added
 * at the end.
 */
export const PAGE_ORDERS = ['unknown', 'newestFirst', 'oldestFirst', 'unsorted'] as const;

/** Returns true if the first page of a list in this order always contains the newest messages. */
export function doesFirstPageShowNewestMessages(order: PageOrder): boolean {
  return order === 'newestFirst';
}

/** Determines the order of messages from their timestamps. Ignores messages without a timestamp. */
export function messageOrderOf(served: readonly UpstreamMessage[]): PageOrder {
  const seen = new MessageOrderDetector();
  seen.add(served);
  return seen.order;
}

/**
 * Returns the messages sorted by timestamp, oldest first. Messages without a timestamp come last. Messages
 * with equal timestamps stay in the order of the list, which is first reversed if it is newest first.
 */
export function sortOldestFirst(served: readonly UpstreamMessage[], order: PageOrder): UpstreamMessage[] {
  const inTime = order === 'newestFirst' ? [...served].reverse() : [...served];
  return inTime.sort((a, b) => (a.timestamp ?? Infinity) - (b.timestamp ?? Infinity) || 0);
}

/** Determines the order of a list that is read page by page. Does not store the messages of the pages. */
export class MessageOrderDetector {
  private falls = false;
  private rises = false;
  private previous: number | undefined;

  add(messages: readonly UpstreamMessage[]): void {
    for (const { timestamp } of messages) {
      if (timestamp === undefined) continue;
      if (this.previous !== undefined && timestamp < this.previous) this.falls = true;
      if (this.previous !== undefined && timestamp > this.previous) this.rises = true;
      this.previous = timestamp;
    }
  }

  get order(): PageOrder {
    if (this.falls && this.rises) return 'unsorted';
    if (this.falls) return 'newestFirst';
    return this.rises ? 'oldestFirst' : 'unknown';
  }
}
