import { readFirstPage } from './first-page.js';
import { firstPageLimitOf } from './head-plan.js';
import type { HeadWalk } from './head-walk.js';
import { messageOrderOf } from './message-order-detector.js';
import { mayNextPageHaveNewMessages, readFurtherPages } from './newest-first-walk.js';
import { mayBeCausedByPageSize } from './page-errors.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE, LARGE_PAGE_LIMIT } from './page-limits.js';
import type { PageRead } from './page-reader.js';
import { MAX_LIST_RECHECKS } from './walk-bounds.js';

/**
 * Reads page 1 of a list that is unsorted or whose order is unknown. This is enough if page 1 is the whole list. If
 * page 1 shows the order of a longer list, reads further pages: of a newest-first list, as long as they may contain
 * new messages; of an oldest-first list, page 2. If new messages may still be missing, sets `walk.coversAllNew` to
 * false. At the first read of a contact, a read of all pages follows in any case.
 */
export async function readInUnknownOrder(walk: HeadWalk): Promise<void> {
  const large = firstPageLimitOf(walk.plan) === LARGE_PAGE_LIMIT;
  const first = large ? await readLargeFirstPage(walk) : await readFirstPage(walk);
  await checkEndOfLargePage(walk, first);
  const showsAll = walk.showsAll(first);
  const seen = messageOrderOf(first.items, walk.pages.pageSize);
  const showsOrder = walk.order === 'unknown' && (!walk.plan.isFirst || walk.plan.known === 0);
  if (showsOrder && seen.order === 'newestFirst') {
    walk.order = seen.order;
    walk.hasMisplacedMessages ||= seen.hasMisplacedMessages;
    // If the whole list seems to be new although many messages are known, page 2 shows whether they were replaced.
    const needsFurtherPages = mayNextPageHaveNewMessages(walk, first) && (!showsAll || walk.plan.knowsMany);
    if (!walk.plan.isFirst && needsFurtherPages) await readFurtherPages(walk, first);
    return;
  }
  if (showsAll) walk.settleWithoutOrder(first);
  else if (showsOrder && seen.order === 'oldestFirst' && !walk.plan.isFirst) {
    walk.hasMisplacedMessages ||= seen.hasMisplacedMessages;
    await readSecond(walk, first);
  } else walk.coversAllNew = false;
}

/**
 * Reads page 2 if page 1 has more messages than the documented maximum, but fewer than requested. Page 2 shows
 * whether the list ends with page 1, or whether upstream never returns more messages per page than page 1 has.
 */
async function checkEndOfLargePage(walk: HeadWalk, first: PageRead): Promise<void> {
  const { count, limit } = first;
  if (walk.showsEnd || count <= DOCUMENTED_MAX_MESSAGES_PER_PAGE || count >= limit) return;
  try {
    const second = await walk.readPage(2, limit);
    walk.showsEnd = second.count === 0 || (second.repeats && second.ids.length > 0);
  } catch (error) {
    // A message on page 2 that upstream fails to return must not stop the polls. A read of all pages skips it.
    if (!mayBeCausedByPageSize(error)) throw error;
  }
}

/**
 * Finds out whether page 1 of a list that seems to be oldest first is the whole list. Reads page 2 and then page 1
 * again. If page 2 is empty and page 1 contains no further new message, page 1 is the whole list, and the order is
 * set to oldest first. Otherwise sets `walk.coversAllNew` to false.
 */
async function readSecond(walk: HeadWalk, first: PageRead): Promise<void> {
  let top = first;
  for (let looks = 0; looks < MAX_LIST_RECHECKS && top.count < DOCUMENTED_MAX_MESSAGES_PER_PAGE; looks += 1) {
    const second = await walk.readPage(2, top.limit);
    if (second.count > 0) break;
    top = await walk.readPage(1, top.limit);
    if (top.newIds.length > 0) continue;
    walk.order = 'oldestFirst';
    walk.setHeadFromTail(0, 0, [top]);
    return;
  }
  walk.coversAllNew = false;
}

/** Reads page 1 with {@link LARGE_PAGE_LIMIT}. */
async function readLargeFirstPage(walk: HeadWalk): Promise<PageRead> {
  try {
    return await walk.readFirstPageWithLimit(LARGE_PAGE_LIMIT);
  } catch (error) {
    // Upstream may no longer accept `LARGE_PAGE_LIMIT`, so page 1 is requested with the documented limit.
    if (!mayBeCausedByPageSize(error)) throw error;
    walk.limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
    return readFirstPage(walk);
  }
}
