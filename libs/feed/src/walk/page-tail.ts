/** One stretch of messages, as upstream is asked for it. */
export interface Stretch {
  page: number;
  limit: number;
}

/** So many new messages are to find room on the last stretch. */
const ROOM = 3;

/**
 * Where the oldest come first: the one stretch that shows both the last of so many messages and those that come next.
 * Where the last page has no room for a few more, that is one of smaller pages: a page that is full does not show that
 * nothing follows, and one after it would be empty, and not show what vanished. (Of few messages in pages of two to four
 * there may be none; then the page after the last is meant.)
 */
export function tailOf(length: number, pageSize: number): Stretch {
  const spare = (limit: number): number => Math.min(length % limit, limit - (length % limit));
  const smaller = Array.from({ length: pageSize - 1 }, (_, i) => i + 1);
  const roomiest = smaller.reduce((best, limit) => (spare(limit) > spare(best) ? limit : best), pageSize);
  const limit = spare(pageSize) >= ROOM ? pageSize : roomiest;
  return { page: Math.floor(length / limit) + 1, limit };
}
