import { type MessagePage, UpstreamReplyTooLargeError } from '#upstream';
import { PartSearch } from './part-search.js';

/** Reads one page of at most `limit`, as far as upstream honours that; counts from 1. */
export type ReadPage = (page: number, limit: number) => Promise<MessagePage>;

/** A message that can never be read stands among the unreadable under one of these names: nothing of it is known. */
const TOO_LARGE = 'a message too large to be read';
export const FAILS = 'a message that upstream fails to show';

/** Whether a page that failed may be read in parts, since one of its messages makes it fail. */
export type IsAboutOneMessage = (error: unknown) => boolean;

const isTooLarge: IsAboutOneMessage = (error) => error instanceof UpstreamReplyTooLargeError;

/**
 * A reader that takes a page which is too large, or fails because of one of its messages, in smaller parts. A single message
 * that cannot be read is skipped, so that it does not hide the others.
 * @param sizeOf how many messages a page holds that is asked for with this limit, and is not the first
 */
export function inReadableParts(
  read: ReadPage,
  sizeOf: (limit: number) => number,
  isAboutOneMessage: IsAboutOneMessage = () => false,
): ReadPage {
  const mayBeSplit = (error: unknown): boolean => isTooLarge(error) || isAboutOneMessage(error);
  return async (page, limit) => {
    try {
      return await read(page, limit);
    } catch (error) {
      if (!mayBeSplit(error)) throw error;
      if (limit === 1) return unread(error);
    }
    const search = new PartSearch({ page, limit: page === 1 ? limit : sizeOf(limit) });
    const parts: MessagePage[] = [];
    for (let part = search.next(); part !== undefined; part = search.next()) {
      try {
        parts.push(await read(part.page, part.limit));
        search.succeeded();
      } catch (error) {
        if (!mayBeSplit(error)) throw error;
        if (search.failed()) parts.push(unread(error));
      }
    }
    return joined(parts);
  };
}

/** Stands for a single message that could not be read. */
function unread(error: unknown): MessagePage {
  return { items: [], skipped: 1, unreadable: [isTooLarge(error) ? TOO_LARGE : FAILS] };
}

/** Parts of one page, as one page; what shifted from part to part is in it twice, as it would be on two pages. */
function joined(parts: readonly MessagePage[]): MessagePage {
  const date = parts.find((part) => part.date !== undefined)?.date;
  return {
    items: parts.flatMap(({ items }) => items),
    skipped: parts.reduce((sum, { skipped }) => sum + skipped, 0),
    unreadable: parts.flatMap(({ unreadable = [] }) => unreadable),
    ...(date === undefined ? {} : { date }),
  };
}
