import type { HeadWalk } from './head-walk.js';
import { mayBeCausedBySingleMessage } from './page-errors.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE } from './page-limits.js';
import type { PageRead } from './page-reader.js';
import { MAX_PAGES_PER_DIRECTION, MAX_LIST_RECHECKS } from './walk-bounds.js';

/**
 * Reads an oldest-first list to its end, from the page that was the last one at the previous read. If that took
 * several requests and found new messages, reads the end of the list again. If the last of {@link MAX_LIST_RECHECKS} such
 * reads still finds new messages, sets `walk.coversAllNew` to false.
 */
export async function readOldestFirst(walk: HeadWalk): Promise<void> {
  for (let looks = 0; looks < MAX_LIST_RECHECKS; looks += 1) {
    const { pages, foundNew } = await readTailOnce(walk);
    if (pages === 1 || !foundNew) return;
  }
  walk.coversAllNew = false;
}

async function readTailOnce(walk: HeadWalk): Promise<{ pages: number; foundNew: boolean }> {
  walk.pages.beginPass();
  const { ignoresLimit } = walk;
  const before = walk.pages.requests.count;
  const { page, limit } = walk.requestForLastPage();
  const start = (page - 1) * limit;
  let first = page;
  let reads = [await readPageOfTail(walk, page, page === 1 ? limitOfOnlyPage(walk, limit) : limit)];
  // The requested page should start with a known message. If the page is empty, the list became shorter. If the
  // page starts with a new message, messages moved from page to page. In both cases, earlier pages are read, back
  // to a page that starts with a known message. If upstream may ignore the limit, one earlier page is read, which
  // shows whether upstream does so.
  while (first > 1 && page - first < MAX_PAGES_PER_DIRECTION) {
    const isEmpty = reads[0]?.count === 0;
    const mayIgnoreLimit = first === page && mayHaveIgnoredLimit(walk, reads[0], start);
    if (!isEmpty && reads[0]?.firstIsNew !== true && !mayIgnoreLimit) break;
    first -= 1;
    const read = await readPageOfTail(walk, first, limit);
    reads = isEmpty ? [read] : [read, ...reads];
  }
  // The read has shown that upstream ignores the limit. The pages therefore began at other messages than
  // assumed, and are read again.
  if (walk.ignoresLimit && !ignoresLimit) return readTailOnce(walk);
  await readToEnd(walk, reads, first + reads.length - 1);
  walk.setHeadFromTail(start, (first - 1) * limit, reads);
  return {
    pages: walk.pages.requests.count - before,
    foundNew: reads.some((read) => read.newIds.length > 0),
  };
}

/**
 * Returns the limit for a request that is expected to return the whole list as one page. If upstream ignores the
 * limit, the page may be as long as the longest page of any contact, so the limit is raised to that length, but
 * not above the documented maximum.
 */
function limitOfOnlyPage(walk: HeadWalk, limit: number): number {
  const longest = Math.min(walk.plan.longestPage, DOCUMENTED_MAX_MESSAGES_PER_PAGE);
  return walk.ignoresLimit ? Math.max(limit, longest) : limit;
}

/**
 * Returns true if the last page has fewer messages than expected and the reason may be that upstream ignores the
 * limit, so that the page begins at another message than assumed. The page before the last one shows whether upstream
 * does so.
 */
function mayHaveIgnoredLimit(walk: HeadWalk, last: PageRead | undefined, start: number): boolean {
  // Checked only if upstream is known not to honour the large limit: if it honours that limit, it ignores none.
  if (walk.limit !== DOCUMENTED_MAX_MESSAGES_PER_PAGE) return false;
  return last !== undefined && last.limit < walk.pages.pageSize && last.count < walk.length - start;
}

/**
 * Reads a page at the end of an oldest-first list. If the page fails, and earlier reads suggest that a single
 * message is the cause, reads the page in parts. Without this, later reads would fail too, because that message
 * stays on this page.
 */
async function readPageOfTail(walk: HeadWalk, page: number, limit: number): Promise<PageRead> {
  try {
    const read = await walk.pages.readPageOrThrow(page, limit);
    walk.ignoresLimit ||= read.count > limit;
    return walk.withOrderChecked(read);
  } catch (error) {
    if (!walk.isMessageSuspected() || !mayBeCausedBySingleMessage(error)) throw error;
    return walk.withOrderChecked(await walk.pages.readPageInParts({ page, limit }, limit, error));
  }
}

/**
 * Reads the pages after page number `from` until the list ends, and adds them to `reads`. The list ends with a page
 * that is not full, or before a page that is empty or repeats earlier messages. After {@link MAX_PAGES_PER_DIRECTION}
 * pages, stops and sets `walk.coversAllNew` to false.
 */
async function readToEnd(walk: HeadWalk, reads: PageRead[], from: number): Promise<void> {
  let last = reads.at(-1);
  for (let page = from + 1; last !== undefined && last.count >= last.limit; page += 1) {
    if (page - from > MAX_PAGES_PER_DIRECTION) {
      walk.coversAllNew = false;
      return;
    }
    const next = await readPageOfTail(walk, page, last.limit);
    if (next.count === 0) {
      if (!(await walk.pages.continuesAfter(last, page))) return;
      continue;
    }
    if (next.repeats) return;
    reads.push(next);
    last = next;
  }
}
