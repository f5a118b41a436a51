import { readFirstPage } from './first-page.js';
import type { HeadWalk } from './head-walk.js';
import { allowedMisplacement } from './message-order-detector.js';
import { mayBeCausedByPageSize } from './page-errors.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE, LARGE_PAGE_LIMIT } from './page-limits.js';
import type { PageRead } from './page-reader.js';
import {
  MAX_CONSECUTIVE_UNREADABLE_PAGES,
  MAX_PAGES_PER_DIRECTION,
  MAX_LIST_RECHECKS,
} from './walk-bounds.js';

/**
 * Reads a newest-first list from page 1 on, until a page ends in a known message or the list ends. If page 1 shows
 * that the list is unsorted, reads only page 1.
 */
export async function readNewestFirst(walk: HeadWalk): Promise<void> {
  const first = await readFirstPage(walk);
  if (walk.order === 'unsorted') {
    walk.settleWithoutOrder(first);
    return;
  }
  if (!mayNextPageHaveNewMessages(walk, first)) return;
  const isShort = first.count < walk.pages.pageSize && walk.headLimit === undefined;
  if (walk.plan.known === 0 && isShort) return;
  await readFurtherPages(walk, first);
}

/**
 * Returns true if the next page may contain more new messages: the last message of this page is new, or no message
 * of this page is readable. If messages are misplaced, new messages may also follow a few known ones.
 */
export function mayNextPageHaveNewMessages(walk: HeadWalk, { lastIsNew, ids, count }: PageRead): boolean {
  if (lastIsNew || (ids.length === 0 && count > 0)) return true;
  const { snapshots, pageSize } = walk.pages;
  return walk.hasMisplacedMessages && !walk.showsEnd && snapshots.size <= allowedMisplacement(pageSize);
}

/**
 * Reads the pages after page 1, until a page ends in a known message or the list ends. Then reads all but the last of
 * these pages again; see {@link repeatFirstPages}. Sets `coversAllNew` of the walk to false if it ends before it has
 * found all new messages. Called if page 2 may contain more new messages; see {@link mayNextPageHaveNewMessages}.
 */
export async function readFurtherPages(walk: HeadWalk, first: PageRead): Promise<void> {
  const top = await enlarged(walk, first);
  let last = top;
  let pages = 1;
  let unreadable = top.ids.length === 0 ? 1 : 0;
  let ended = false;
  let endRepeats = false;
  while (mayNextPageHaveNewMessages(walk, last) && !ended) {
    if (pages >= MAX_PAGES_PER_DIRECTION || unreadable >= MAX_CONSECUTIVE_UNREADABLE_PAGES) {
      walk.coversAllNew = false;
      break;
    }
    const next = await readNextPage(walk, pages + 1, top.limit);
    if (next === undefined) {
      walk.coversAllNew = false;
      break;
    }
    pages += 1;
    if (next.count === 0) {
      if (await walk.pages.continuesAfter(last, pages)) continue;
      ended = true;
    } else if (next.repeats && next.ids.length > 0) {
      ended = true;
      endRepeats = true;
    }
    unreadable = next.ids.length === 0 ? unreadable + 1 : 0;
    if (!ended) last = next;
  }
  const hasGrown = pages > 1 && (await repeatFirstPages(walk, pages - 1, top.limit));
  // A page that repeats the previous one is usually the end of the list, because some services return the
  // last page again and again. But if the list grew by a whole page between the two requests, the list goes
  // on, and more new messages may follow.
  if (endRepeats && hasGrown) walk.coversAllNew = false;
  walk.metNoKnownMessage = ended && !(endRepeats && hasGrown);
}

/** Reads a page. Returns undefined if the page cannot be read and the read must end without it. */
async function readNextPage(walk: HeadWalk, page: number, limit: number): Promise<PageRead | undefined> {
  try {
    return await walk.readPage(page, limit);
  } catch (error) {
    // A look-up decides whether a send is posted again, so it must not leave out a page.
    if (walk.plan.isLookup || !walk.mustEndWithoutPage(error)) throw error;
    return undefined;
  }
}

/**
 * Reads page 1 again with {@link LARGE_PAGE_LIMIT}. Returns `first` unchanged if `first` is not full, if page 1
 * needs a reduced limit, if upstream is known not to honour the large limit, or if upstream fails to return the
 * larger page.
 */
async function enlarged(walk: HeadWalk, first: PageRead): Promise<PageRead> {
  if (
    walk.limit === DOCUMENTED_MAX_MESSAGES_PER_PAGE ||
    walk.headLimit !== undefined ||
    first.count < DOCUMENTED_MAX_MESSAGES_PER_PAGE
  )
    return first;
  try {
    const larger = await walk.readFirstPageWithLimit(LARGE_PAGE_LIMIT);
    walk.limit =
      larger.count > DOCUMENTED_MAX_MESSAGES_PER_PAGE ? LARGE_PAGE_LIMIT : DOCUMENTED_MAX_MESSAGES_PER_PAGE;
    return { ...larger, limit: walk.limit };
  } catch (error) {
    if (!mayBeCausedByPageSize(error)) throw error;
    walk.limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
    return first;
  }
}

/**
 * Reads the first pages again, because messages may have moved from page to page between two requests. Repeats this
 * until no new message is found, but at most {@link MAX_LIST_RECHECKS} times; if the last repetition still finds new
 * messages, sets `walk.coversAllNew` to false. Returns true if any repetition found a new message.
 */
async function repeatFirstPages(walk: HeadWalk, count: number, limit: number): Promise<boolean> {
  for (let looks = 0; looks < MAX_LIST_RECHECKS; looks += 1) {
    let foundNew = false;
    for (let page = 1; page <= count; page += 1) {
      const read = page === 1 ? await walk.readFirstPageWithLimit(limit) : await walk.readPage(page, limit);
      foundNew ||= read.newIds.length > 0;
    }
    if (!foundNew) return looks > 0;
  }
  walk.coversAllNew = false;
  return true;
}
