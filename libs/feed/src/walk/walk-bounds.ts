/**
 * A read of the newest messages begins with one page, and may go on to later or to earlier pages. This bounds the number
 * of pages in each direction, so that a faulty upstream cannot block a poll. The remaining pages are read by a later read
 * of older messages.
 */
export const MAX_PAGES = 50;
/** Max number of times that pages are read again because new messages appeared on them during the read. */
export const MAX_REPEATS = 5;
/** A read stops after this number of consecutive pages without a readable message. */
export const MAX_CONSECUTIVE_UNREADABLE_PAGES = 5;
/**
 * A further page that cannot be read makes the read fail. After this number of consecutive failed reads, about a minute,
 * the read ends without that page, so that the polls of the contact go on. Earlier reads may have failed for other
 * reasons, and what the page would have shown stays unknown: whether upstream has replaced the messages, which are then
 * emitted as new ones, and whether it contains further new messages, which a read of all pages finds. But the messages
 * that were read are not emitted before.
 */
export const FAILED_READS_UNTIL_NO_CONCLUSION = 6;
