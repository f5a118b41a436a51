/**
 * Maximum number of pages that a read of the newest messages reads in each direction from its first page. The limit
 * keeps a faulty upstream from blocking a poll. The remaining pages are read by a later read of older messages.
 */
export const MAX_PAGES_PER_DIRECTION = 50;
/** Max number of times that pages are read again because new messages appeared on them during the read. */
export const MAX_LIST_RECHECKS = 5;
/**
 * A read stops after this number of consecutive pages without a readable message. Exception: a read of the end of an
 * oldest-first list stops at the first such page.
 */
export const MAX_CONSECUTIVE_UNREADABLE_PAGES = 5;
/**
 * If a page after the first one cannot be read, the whole read fails, and its messages emit no events. After this
 * number of consecutive failed reads (about a minute), a read that is not part of a look-up ends without a page that
 * may be too large for upstream, so that the contact is still polled. It is then unknown whether upstream has
 * replaced the messages and whether that page contains new messages; a later read of all pages finds new ones. From
 * the same number on, page 1 is requested with smaller and smaller limits if upstream does not answer completely.
 */
export const FAILED_READS_UNTIL_PAGE_IS_SKIPPED = 6;
