/** Max number of messages per page according to upstream's documentation. */
export const DOCUMENTED_MAX_MESSAGES_PER_PAGE = 20;
/**
 * The large limit: the page limit that is requested when many messages are read. It exceeds
 * {@link DOCUMENTED_MAX_MESSAGES_PER_PAGE}, so upstream may ignore it. The length of the returned pages shows
 * whether upstream honours the large limit.
 */
export const LARGE_PAGE_LIMIT = 100;
