import { type MessagePage, UpstreamReplyTooLargeError } from '#upstream';
import { UnreadableMessageFinder } from './unreadable-message-finder.js';

/** Reads one page. `page` counts from 1; the page contains at most `limit` messages if upstream honours the limit. */
export type ReadPage = (page: number, limit: number) => Promise<MessagePage>;

/** Texts that describe a message that cannot be read even on its own. */
const OVERSIZED_MESSAGE = 'a message too large to be read';
export const FAILING_MESSAGE_PLACEHOLDER = 'a message that upstream fails to show';

/** Returns true if a single message may have caused the error. The page is then read in parts. */
export type IsMessageFault = (error: unknown) => boolean;

const isTooLarge: IsMessageFault = (error) => error instanceof UpstreamReplyTooLargeError;

/**
 * Returns a function that reads a page with `read`. If the page is too large, or one of its messages may make
 * the request fail, the function reads the page in smaller parts. It skips a message that cannot be read even
 * on its own, so that the other messages of the page can be read.
 * @param sizeOf returns how many messages a full page has if it is requested with a given limit
 * @param isMessageFault returns true for an error that a single message on the page may have caused
 */
export function withFailedPagesReadInParts(
  read: ReadPage,
  sizeOf: (limit: number) => number,
  isMessageFault: IsMessageFault = () => false,
): ReadPage {
  const mayBeSplit = (error: unknown): boolean => isTooLarge(error) || isMessageFault(error);
  return async (page, limit) => {
    try {
      return await read(page, limit);
    } catch (error) {
      if (!mayBeSplit(error)) throw error;
      if (limit === 1) return unreadablePage(error);
    }
    const search = new UnreadableMessageFinder({ page, limit: page === 1 ? limit : sizeOf(limit) });
    const parts: MessagePage[] = [];
    for (let part = search.next(); part !== undefined; part = search.next()) {
      try {
        parts.push(await read(part.page, part.limit));
        search.succeeded();
      } catch (error) {
        if (!mayBeSplit(error)) throw error;
        if (search.failed()) parts.push(unreadablePage(error));
      }
    }
    return joined(parts);
  };
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
