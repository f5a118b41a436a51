/** Page number, counted from 1, and page limit of a request to upstream. */
export interface PageRequest {
  page: number;
  limit: number;
}

/** Number of new messages that the last page must have room for. */
const MIN_ROOM = 3;

/**
 * Returns the page to request at the end of an oldest-first list: a page that contains the last of `length` messages and
 * has room for {@link MIN_ROOM} new ones.
 *
 * If the last page lacks that room, the function picks a smaller limit. A full page would not show whether more follows,
 * and the empty page after it would not show whether messages vanished. With a page size of two to four no limit may
 * leave any room; then the result is the page after the last.
 */
export function lastPageOf(length: number, pageSize: number): PageRequest {
  const spare = (limit: number): number => Math.min(length % limit, limit - (length % limit));
  const smaller = Array.from({ length: pageSize - 1 }, (_, i) => i + 1);
  const roomiest = smaller.reduce((best, limit) => (spare(limit) > spare(best) ? limit : best), pageSize);
  const limit = spare(pageSize) >= MIN_ROOM ? pageSize : roomiest;
  return { page: Math.floor(length / limit) + 1, limit };
}
