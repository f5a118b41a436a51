import type { HeadWalk } from './head-walk.js';
import { mayBeCausedByPageSize, mayBeCausedBySingleMessage } from './page-errors.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE } from './page-limits.js';
import type { PageRead } from './page-reader.js';
import { MAX_CONSECUTIVE_UNREADABLE_PAGES, MAX_PAGES_PER_DIRECTION } from './walk-bounds.js';

/**
 * Returns true if messages were read and none of them is known, although many messages of the contact are known.
 * Returns false until all pages of the contact have been read once, and for a newest-first list, because
 * `readFurtherPages` has already searched it.
 */
export function mayUpstreamHaveReplacedMessages(walk: HeadWalk): boolean {
  const { knowsMany, isFirst } = walk.plan;
  const { seen, snapshots } = walk.pages;
  return knowsMany && !isFirst && walk.order !== 'newestFirst' && seen.size > 0 && snapshots.size === 0;
}

/**
 * Reads the list from page 1 until a page contains a known message or the list ends. Sets `metNoKnownMessage` of the
 * walk if the list ends first. Stops without a result after {@link MAX_PAGES_PER_DIRECTION} pages, after
 * {@link MAX_CONSECUTIVE_UNREADABLE_PAGES} pages in a row without a readable message, or at a page that upstream
 * always fails to return.
 */
export async function readUntilKnownMessage(walk: HeadWalk): Promise<void> {
  walk.pages.beginPass();
  try {
    let last: PageRead | undefined;
    let unreadable = 0;
    for (
      let page = 1;
      page <= MAX_PAGES_PER_DIRECTION && unreadable < MAX_CONSECUTIVE_UNREADABLE_PAGES;
      page += 1
    ) {
      const read = await walk.readPage(page, walk.limit ?? DOCUMENTED_MAX_MESSAGES_PER_PAGE);
      if (walk.pages.snapshots.size > 0) return;
      unreadable = read.ids.length === 0 ? unreadable + 1 : 0;
      if (read.count > 0 && (!read.repeats || read.ids.length === 0)) last = read;
      else if (read.count > 0 || last === undefined || !(await walk.pages.continuesAfter(last, page))) {
        walk.metNoKnownMessage = true;
        return;
      }
    }
  } catch (error) {
    if (!mayBeCausedByPageSize(error)) throw error;
    // The large limit may be known only from another contact. For this contact, upstream may fail to return such a
    // large page.
    if (walk.limit !== undefined && walk.limit > DOCUMENTED_MAX_MESSAGES_PER_PAGE) {
      walk.limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
      return readUntilKnownMessage(walk);
    }
    // A page that upstream always fails to return must not stop the polls. After other errors, the read fails, and a
    // later poll searches again.
    const isMessageFault = walk.isMessageSuspected() && mayBeCausedBySingleMessage(error);
    if (!isMessageFault && !walk.mustEndWithoutPage(error)) throw error;
  }
}
