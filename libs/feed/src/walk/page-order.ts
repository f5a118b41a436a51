import type { UpstreamMessage } from '#upstream';
/** In which order a contact's messages are served, as far as it was seen; `unknown` until two timestamps differ. */
export type PageOrder = (typeof PAGE_ORDERS)[number];

/** Their places are what is stored of them. */
export const PAGE_ORDERS = ['unknown', 'newestFirst', 'oldestFirst', 'unsorted'] as const;

/** Whether the first page alone shows what is new, before everything was read once. */
export function isHeadEnough(order: PageOrder): boolean {
  return order === 'newestFirst';
}

/** The order that a stretch of messages, as served, is in. Messages without a timestamp say nothing. */
export function orderOf(served: readonly UpstreamMessage[]): PageOrder {
  const seen = new OrderSeen();
  seen.add(served);
  return seen.order;
}

/** Messages oldest first: by timestamp, those of one time and those without one as they were served. */
export function oldestFirst(served: readonly UpstreamMessage[], order: PageOrder): UpstreamMessage[] {
  const inTime = order === 'newestFirst' ? [...served].reverse() : [...served];
  return inTime.sort((a, b) => (a.timestamp ?? Infinity) - (b.timestamp ?? Infinity) || 0);
}

/** Learns the order of a list that is read page by page, without keeping it. */
export class OrderSeen {
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
