import type { UpstreamMessage } from '#upstream';
/** Order in which upstream serves a contact's messages; `unknown` until two timestamps differ. */
export type PageOrder = (typeof PAGE_ORDERS)[number];

/** Page orders. The poll memory stores the index in this list: add new orders at the end. */
export const PAGE_ORDERS = ['unknown', 'newestFirst', 'oldestFirst', 'unsorted'] as const;

/** Returns true if a read of the newest messages of a list in this order always shows the new messages. */
export function doesFirstPageShowAllNewMessages(order: PageOrder): boolean {
  return order === 'newestFirst';
}

/** Returns the order of messages by their timestamps. Messages without a timestamp are ignored. */
export function messageOrderOf(served: readonly UpstreamMessage[]): PageOrder {
  const seen = new OrderDetector();
  seen.add(served);
  return seen.order;
}

/** Returns the messages sorted by timestamp. Messages with equal timestamps, or without one, keep upstream's order. */
export function sortOldestFirst(served: readonly UpstreamMessage[], order: PageOrder): UpstreamMessage[] {
  const inTime = order === 'newestFirst' ? [...served].reverse() : [...served];
  return inTime.sort((a, b) => (a.timestamp ?? Infinity) - (b.timestamp ?? Infinity) || 0);
}

/** Determines the order of a list that is read page by page, without keeping the messages. */
export class OrderDetector {
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
