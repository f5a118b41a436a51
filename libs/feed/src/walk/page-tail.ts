/**
 * A request for one page of a contact's messages: the page number, counted from 1, and the max number of
 * messages on the page.
 */
export interface PageRequest {
  page: number;
  limit: number;
}

/**
 * The page that is requested at the end of an oldest-first list should contain at least this number of messages, and
 * have room for at least this number of new messages.
 */
const MIN_ROOM = 3;

/**
 * Returns the page to request at the end of an oldest-first list of `length` messages. The page should
 * contain at least {@link MIN_ROOM} messages, because an empty page does not show whether messages vanished.
 * It should also have room for {@link MIN_ROOM} new messages, because a full page does not show whether more
 * messages follow.
 *
 * The limit is `pageSize` if the last page with this limit meets both conditions. Otherwise it is the smaller limit
 * that meets them best. If the last page is full with every limit, the result is the empty page after it.
 * @param pageSize largest limit that upstream honours for the contact
 */
export function lastPageRequestOf(length: number, pageSize: number): PageRequest {
  const spare = (limit: number): number => Math.min(length % limit, limit - (length % limit));
  const smaller = Array.from({ length: pageSize - 1 }, (_, i) => i + 1);
  const roomiest = smaller.reduce((best, limit) => (spare(limit) > spare(best) ? limit : best), pageSize);
  const limit = spare(pageSize) >= MIN_ROOM ? pageSize : roomiest;
  return { page: Math.floor(length / limit) + 1, limit };
}
