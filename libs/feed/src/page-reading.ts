import { type MessagePage, UpstreamReplyTooLargeError } from '#upstream';

/** Reads one page of at most `limit`, as far as upstream honours that; counts from 1. */
export type ReadPage = (page: number, limit: number) => Promise<MessagePage>;

/** A message that can never be read stands among the unreadable under one of these names: nothing of it is known. */
const TOO_LARGE = 'a message too large to be read';
export const FAILS = 'a message that upstream fails to show';

/** Whether a page that failed may be read in parts, since one of its messages makes it fail. */
export type IsAboutOneMessage = (error: unknown) => boolean;

const isTooLarge: IsAboutOneMessage = (error) => error instanceof UpstreamReplyTooLargeError;

/**
 * A reader that takes a page which is too large, or fails because of one of its messages, in smaller and smaller parts. A
 * single message that cannot be read is skipped, so that it does not hide the others.
 */
export function inReadableParts(
  read: ReadPage,
  isAboutOneMessage: IsAboutOneMessage = () => false,
): ReadPage {
  const readParts = async (page: number, limit: number): Promise<MessagePage> => {
    let tooLarge = false;
    try {
      return await read(page, limit);
    } catch (error) {
      tooLarge = isTooLarge(error);
      if (!tooLarge && !isAboutOneMessage(error)) throw error;
    }
    if (limit === 1) return { items: [], skipped: 1, unreadable: [tooLarge ? TOO_LARGE : FAILS] };
    const parts: MessagePage[] = [];
    for (const part of partsOf(page, limit)) parts.push(await readParts(part.page, part.limit));
    return joined(parts);
  };
  return readParts;
}

/** The smaller pages that cover the same stretch as one page. */
export function partsOf(page: number, limit: number): { page: number; limit: number }[] {
  const smaller = largestPart(limit);
  const first = ((page - 1) * limit) / smaller + 1;
  return Array.from({ length: limit / smaller }, (_, n) => ({ page: first + n, limit: smaller }));
}

/** The largest proper divisor: only whole parts cover the same stretch. */
function largestPart(limit: number): number {
  for (let part = Math.floor(limit / 2); part > 1; part -= 1) if (limit % part === 0) return part;
  return 1;
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
