import { type MessagePage, UpstreamReplyTooLargeError } from '#upstream';
import type { PageRequests } from './page-requests.js';
import type { PageRequest } from './page-tail.js';
import { UnreadableMessageFinder } from './unreadable-message-finder.js';

type Requests = Pick<PageRequests, 'send'>;

/** Texts that describe a message that cannot be read even on its own. */
const OVERSIZED_MESSAGE = 'a message too large to be read';
export const FAILING_MESSAGE_PLACEHOLDER = 'a message that upstream fails to show';
const PLACEHOLDERS: ReadonlySet<string> = new Set([OVERSIZED_MESSAGE, FAILING_MESSAGE_PLACEHOLDER]);

/**
 * If no message of a page can be read, the cause is not a single message: upstream is probably down. To spare
 * upstream, {@link readFailedPageInParts} therefore fails after this number of parts if none of them contains a
 * readable message.
 */
const MAX_PARTS_WITHOUT_MESSAGE = 5;

/** Returns true if a single message may have caused the error. The page is then read in parts. */
export type IsMessageFault = (error: unknown) => boolean;

const isTooLarge: IsMessageFault = (error) => error instanceof UpstreamReplyTooLargeError;

/**
 * Reads a page. If the page is too large, or one of its messages may make the request fail, reads the page in smaller
 * parts. Skips a message that cannot be read even on its own, so that the other messages of the page can be read.
 * @param size number of messages on the page if it is full, at most its limit
 * @param isMessageFault returns true for an error that a single message on the page may have caused
 */
export async function readInPartsIfNeeded(
  requests: Requests,
  { page, limit }: PageRequest,
  size: number,
  isMessageFault: IsMessageFault = () => false,
): Promise<MessagePage> {
  const mayBeSplit = (error: unknown): boolean => isTooLarge(error) || isMessageFault(error);
  try {
    return await requests.send(page, limit);
  } catch (error) {
    if (!mayBeSplit(error)) throw error;
    if (limit === 1) return unreadablePage(error);
  }
  const search = new UnreadableMessageFinder({ page, limit: size });
  return joined(await readParts(requests, search, mayBeSplit));
}

/**
 * Reads a failed page in smaller parts, and skips the messages that cannot be read even on their own.
 * @param page the failed page
 * @param failure error of the request for the page
 * @param isMessageFault returns true for an error that a single message on the page may have caused
 * @param doesFirstMessageFail true if the first message of the page could not be read on its own
 * @throws `failure` if no part, or none of the first {@link MAX_PARTS_WITHOUT_MESSAGE} parts, contains a readable
 * message; or the error of a part, if neither the size of the part nor a single message may have caused it
 */
export async function readFailedPageInParts(
  requests: Requests,
  page: PageRequest,
  failure: unknown,
  isMessageFault: IsMessageFault,
  doesFirstMessageFail = false,
): Promise<MessagePage> {
  const search = new UnreadableMessageFinder(page);
  if (doesFirstMessageFail) search.skipMessage();
  const skipped = doesFirstMessageFail ? [unreadablePage(failure)] : [];
  const mayBeSplit: IsMessageFault = (error) => isTooLarge(error) || isMessageFault(error);
  const parts = await readParts(requests, search, mayBeSplit, (before) => {
    if (before.length >= MAX_PARTS_WITHOUT_MESSAGE && !containsMessage(before)) throw failure;
  });
  if (!containsMessage(parts)) throw failure;
  return joined([...skipped, ...parts]);
}

const containsMessage = (parts: readonly MessagePage[]): boolean =>
  parts.some(({ items }) => items.length > 0);

/**
 * Reads a page in parts. `search` decides which parts are requested.
 * @param mayBeSplit returns true for an error after which the part is read in smaller parts
 * @param beforeNext called before each request; its argument is the parts that were read so far
 */
async function readParts(
  requests: Requests,
  search: UnreadableMessageFinder,
  mayBeSplit: IsMessageFault,
  beforeNext: (parts: readonly MessagePage[]) => void = () => undefined,
): Promise<MessagePage[]> {
  const parts: MessagePage[] = [];
  for (let part = search.next(); part !== undefined; part = search.next()) {
    beforeNext(parts);
    try {
      parts.push(await requests.send(part.page, part.limit));
      search.succeeded();
    } catch (error) {
      if (!mayBeSplit(error)) throw error;
      if (search.failed()) parts.push(unreadablePage(error));
    }
  }
  return parts;
}

/** Returns a page that contains one unreadable element, in place of a message that cannot be read. */
function unreadablePage(error: unknown): MessagePage {
  return {
    items: [],
    skipped: 1,
    unreadable: [isTooLarge(error) ? OVERSIZED_MESSAGE : FAILING_MESSAGE_PLACEHOLDER],
  };
}

/**
 * Returns true if an unreadable element stands for a message that upstream did not return, and false if it is an
 * element that could not be parsed.
 */
export function isPlaceholder(unreadable: string): boolean {
  return PLACEHOLDERS.has(unreadable);
}

/**
 * Combines the parts of a page into one page. A message that moved between the requests for two parts may
 * appear twice.
 */
function joined(parts: readonly MessagePage[]): MessagePage {
  const date = parts.find((part) => part.date !== undefined)?.date;
  return {
    items: parts.flatMap(({ items }) => items),
    skipped: parts.reduce((sum, { skipped }) => sum + skipped, 0),
    unreadable: parts.flatMap(({ unreadable = [] }) => unreadable),
    ...(date === undefined ? {} : { date }),
  };
}
