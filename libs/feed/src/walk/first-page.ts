import type { HeadWalk } from './head-walk.js';
import { mayBeCausedByPageSize, mayBeCausedBySingleMessage } from './page-errors.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE } from './page-limits.js';
import type { PageRead } from './page-reader.js';
import { FAILED_READS_UNTIL_PAGE_IS_SKIPPED } from './walk-bounds.js';

/** Maximum number of times that a page limit is halved. This number of halvings reduces the documented limit to 1. */
const MAX_HALVINGS = 5;

/**
 * Reads page 1 and records it in the walk. If upstream fails to return the full page, perhaps because of one message,
 * tries smaller first pages. If even the first message alone fails, and earlier reads suggest that one message is the
 * cause, reads page 1 without that message.
 * @throws the error of the full page if no smaller page can be read
 */
export async function readFirstPage(walk: HeadWalk): Promise<PageRead> {
  const limit = walk.headLimit ?? DOCUMENTED_MAX_MESSAGES_PER_PAGE;
  const { lastHeadLimit, failures } = walk.plan;
  const halves = failures === 0 ? [limit >> 1] : [limit >> 1, limit >> 2, limit >> 3, 1];
  const parts = lastHeadLimit === undefined ? halves : [lastHeadLimit, ...halves];
  let failure: unknown;
  for (const part of [limit, ...new Set(parts)]) {
    if (part < 1) continue;
    try {
      const read = await walk.pages.readPageOrThrow(1, part);
      if (part < limit) walk.headLimit = part;
      return walk.noteFirstPage(read);
    } catch (error) {
      if (!mayBeCausedBySingleMessage(error)) return readShorterFirstPage(walk, limit, error);
      failure ??= error;
      if (part === 1 && walk.isMessageSuspected()) return readAfterFirstMessage(walk, failure);
    }
  }
  throw failure;
}

/**
 * Reads page 1 with a smaller limit, after a request that got no complete reply, for example because of a timeout.
 * Uses the smaller limit with which an earlier read succeeded. After many failed reads, each further failed read
 * halves the limit. Sends only one request, because each request may take as long as the timeout.
 * @throws `failure` if there is no smaller limit to try, or if the size of the page cannot be the cause
 */
async function readShorterFirstPage(walk: HeadWalk, limit: number, failure: unknown): Promise<PageRead> {
  const { lastHeadLimit = limit, failures } = walk.plan;
  const halvings = Math.min(Math.max(failures - FAILED_READS_UNTIL_PAGE_IS_SKIPPED + 1, 0), MAX_HALVINGS);
  const shorter = Math.max(Math.min(lastHeadLimit, limit) >> halvings, 1);
  if (shorter >= limit || !mayBeCausedByPageSize(failure)) throw failure;
  const read = await walk.pages.readPageOrThrow(1, shorter);
  walk.headLimit = shorter;
  return walk.noteFirstPage(read);
}

/** Reads page 1 without its first message, because upstream fails to return that message even on its own. */
async function readAfterFirstMessage(walk: HeadWalk, failure: unknown): Promise<PageRead> {
  const limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
  // If the list has more messages than the longest page so far, the length of that page is the maximum page
  // length of upstream.
  const isCapped = walk.length > walk.pages.pageSize;
  const size = isCapped ? Math.min(limit, walk.pages.pageSize) : limit;
  const read = await walk.pages.readPageInParts({ page: 1, limit }, size, failure, true);
  walk.headLimit = 1;
  return walk.noteFirstPage(read);
}
