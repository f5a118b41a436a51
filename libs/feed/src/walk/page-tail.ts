/**
 * A request for one page of a contact's messages: the page number, counted from 1, and the max number of
 * messages on the page.
 */
export interface PageRequest {
  page: number;
  limit: number;
}

/** Min number of new messages for which the last page should have room. */
const MIN_ROOM = 3;

/**
 * Returns the page to request at the end of an oldest-first list of `length` messages. The page contains the
 * last message, and has room for at least {@link MIN_ROOM} new ones if possible.
 *
 * If the last page of size `pageSize` does not have that much room, the page with the most room is returned,
 * with a smaller limit. A full page would not show whether more messages follow, and the empty page after it
 * would not show whether messages vanished. For a few lengths, such as 12 with a page size of 4, the last
 * page is full with every limit. The result is then the page after it.
 */
export function lastPageOf(length: number, pageSize: number): PageRequest {
  const spare = (limit: number): number => Math.min(length % limit, limit - (length % limit));
  const smaller = Array.from({ length: pageSize - 1 }, (_, i) => i + 1);
  const roomiest = smaller.reduce((best, limit) => (spare(limit) > spare(best) ? limit : best), pageSize);
  const limit = spare(pageSize) >= MIN_ROOM ? pageSize : roomiest;
  return { page: Math.floor(length / limit) + 1, limit };
}
