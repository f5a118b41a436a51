import type { HeadPlan } from './head-plan.js';
import { HeadWalk } from './head-walk.js';
import { readUntilKnownMessage, mayMessagesBeReplaced } from './known-message-search.js';
import { readNewestFirst } from './newest-first-walk.js';
import type { ContactSource } from './page-requests.js';
import { readOldestFirst } from './oldest-first-walk.js';
import { readInUnknownOrder } from './unknown-order-walk.js';

/**
 * Reads the new messages of a contact. Which pages are read depends on the order of the list:
 *
 * - Newest first: from page 1 on, until a page ends in a known message or the list ends.
 * - Oldest first: from the page that was the last one at the previous read to the end of the list.
 * - Other orders: page 1. This is enough only if the page contains the whole list.
 *
 * If none of these messages is known although many messages of the contact are known, reads on until a known message
 * is met or the list ends, because upstream may have replaced all messages of the contact.
 *
 * A message is new if the snapshot does not contain it. Most reads need only one request. Several pages are read only
 * if more new messages may follow the first page. Messages may move from one page to another between two requests, so
 * all of these pages except the last are read again, until a repetition finds no further new message.
 */
export async function readNewestMessages(contact: ContactSource, plan: HeadPlan): Promise<HeadWalk> {
  const walk = new HeadWalk(contact, plan);
  if (walk.order === 'oldestFirst') await readOldestFirst(walk);
  else if (walk.order === 'newestFirst') await readNewestFirst(walk);
  else await readInUnknownOrder(walk);
  if (mayMessagesBeReplaced(walk)) await readUntilKnownMessage(walk);
  return walk;
}
