import type { HeadPlan } from './head-plan.js';
import { HeadWalk } from './head-walk.js';
import { readUntilKnownMessage, mayUpstreamHaveReplacedMessages } from './known-message-search.js';
import { readNewestFirst } from './newest-first-walk.js';
import type { ContactSource } from './page-requests.js';
import { readOldestFirst } from './oldest-first-walk.js';
import { readInUnknownOrder } from './unknown-order-walk.js';

/**
 * Reads the new messages of a contact. Which pages are read depends on the order of the list:
 *
 * - Newest first: from page 1 on, until a page ends in a known message or the list ends.
 * - Oldest first: from the page that was the last one at the previous read to the end of the list.
 * - Unknown: page 1, and further pages if page 1 shows one of the orders above.
 * - Unsorted: page 1. This is enough only if the page contains the whole list.
 *
 * If none of these messages is known although many messages of the contact are known, upstream may have replaced all
 * messages of the contact. The list is then read until a known message is met or the list ends.
 *
 * A message is new if the snapshot does not contain it. Most reads need only one request. Several pages are read only
 * if more new messages may follow the first page. Messages may move from one page to another between two requests, so
 * pages are then read again until no further new message is found. {@link HeadWalk.coversAllNew} of the result says
 * whether all new messages were found.
 */
export async function readNewestMessages(contact: ContactSource, plan: HeadPlan): Promise<HeadWalk> {
  const walk = new HeadWalk(contact, plan);
  if (walk.order === 'oldestFirst') await readOldestFirst(walk);
  else if (walk.order === 'newestFirst') await readNewestFirst(walk);
  else await readInUnknownOrder(walk);
  if (mayUpstreamHaveReplacedMessages(walk)) await readUntilKnownMessage(walk);
  return walk;
}
