import type { UpstreamMessage } from '#upstream';

/** In which order a contact's messages are served, as far as it was seen; `unknown` until two timestamps differ. */
export type PageOrder = (typeof PAGE_ORDERS)[number];

/** Their places are what is stored of them. */
export const PAGE_ORDERS = ['unknown', 'newestFirst', 'oldestFirst', 'unsorted'] as const;

/** The order that a stretch of messages, as served, is in. Messages without a timestamp say nothing. */
export function orderOf(served: readonly UpstreamMessage[]): PageOrder {
  let falls = false;
  let rises = false;
  let previous: number | undefined;
  for (const { timestamp } of served) {
    if (timestamp === undefined) continue;
    if (previous !== undefined && timestamp < previous) falls = true;
    if (previous !== undefined && timestamp > previous) rises = true;
    previous = timestamp;
  }
  if (falls && rises) return 'unsorted';
  if (falls) return 'newestFirst';
  return rises ? 'oldestFirst' : 'unknown';
}

/** Messages oldest first: by timestamp, those of one time and those without one as they were served. */
export function oldestFirst(served: readonly UpstreamMessage[], order: PageOrder): UpstreamMessage[] {
  const inTime = order === 'newestFirst' ? [...served].reverse() : [...served];
  return inTime.sort((a, b) => (a.timestamp ?? Infinity) - (b.timestamp ?? Infinity) || 0);
}
