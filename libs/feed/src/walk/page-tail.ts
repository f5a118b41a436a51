/**
 * A request for one page of a contact's messages: the page number, counted from 1, and the max number of
 * messages on the page.
 */
export interface PageRequest {
  page: number;
  limit: number;
}

/**
 * Minimum number of messages that the last page of an oldest-first list should contain, and minimum number of further
 * messages for which the page should have room. {@link requestForLastPage} explains both.
 */
const MIN_ROOM = 3;

/**
 * Returns the request for the last page of an oldest-first list of `length` messages.
 *
 * The page should contain at least {@link MIN_ROOM} messages, because an empty page does not show whether messages
 * vanished. The page should also have room for {@link MIN_ROOM} new messages, because a full page does not show
 * whether more messages follow. If a page with the limit `pageSize` does not meet both conditions, a smaller limit
 * may be used. If upstream ignores the limit, each page has `pageSize` messages, so the limit is always `pageSize`.
 * @param pageSize number of messages on the longest page of the contact so far; the limit is never larger
 */
export function requestForLastPage(length: number, pageSize: number, ignoresLimit: boolean): PageRequest {
  if (ignoresLimit) return { page: Math.max(Math.ceil(length / pageSize), 1), limit: pageSize };
  const spare = (limit: number): number => Math.min(length % limit, limit - (length % limit));
  const smaller = Array.from({ length: pageSize - 1 }, (_, i) => i + 1);
  const roomiest = smaller.reduce((best, limit) => (spare(limit) > spare(best) ? limit : best), pageSize);
  const limit = spare(pageSize) >= MIN_ROOM ? pageSize : roomiest;
  return { page: Math.floor(length / limit) + 1, limit };
}
