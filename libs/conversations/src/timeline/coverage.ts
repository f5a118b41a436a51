import { comparePositions, type Position } from '../position.js';
import type { TimelineMessage } from './ports.js';

/** A message with its position. */
export interface PlacedMessage {
  position: Position & { id: string };
  message: TimelineMessage;
}

/** A page that was read, with its position in upstream's list and its messages. */
export interface PlacedPage {
  /** Index in upstream's list of the first element of the page. */
  start: number;
  /** Number of elements on the page, including unreadable ones. */
  count: number;
  /** The messages, newest first. */
  messages: readonly PlacedMessage[];
  /** True if the list had no newer message when the page was read. */
  hasNewest: boolean;
  /** True if the list had no older message when the page was read. */
  hasOldest: boolean;
  /** The page with the next older messages. Absent unless that page is known to follow without a gap. */
  next?: PlacedPage;
}

/** Consecutive messages of a contact: the result of {@link combinePages}. */
export interface Coverage {
  /** False if messages may be missing between the position where the result must begin and the pages that were read. */
  isConnected: boolean;
  /** All messages from the position where the result must begin down to {@link edge}, newest first. */
  messages: readonly PlacedMessage[];
  /** Position down to which all messages were found. Undefined if the oldest message was found, too. */
  edge: Position | undefined;
  /** The page whose messages end the result. Undefined if `isConnected` is false. */
  last: PlacedPage | undefined;
}

/**
 * Combines pages of one list that were read at different times, even if messages appeared or disappeared between the
 * reads. Returns consecutive messages, beginning at the position `from`.
 *
 * The pages form a chain. A page can be the first of the chain if it contains the newest message of the list, or a
 * message newer than `from`. A further page joins the chain if it shares a message with a page of the chain.
 *
 * The next page of the list may contain more messages with the oldest timestamp of the chain. So messages with this
 * timestamp are left out, unless the list ends there.
 *
 * @param from messages older than this position are returned; undefined for the newest messages
 */
export function combinePages(pages: readonly PlacedPage[], from: Position | undefined): Coverage {
  const connected = new Set<PlacedPage>();
  const ids = new Set<string>();
  let edge = from?.at ?? Infinity;
  let last: PlacedPage | undefined;
  const continues = (page: PlacedPage): boolean => {
    if (page.hasNewest) return true;
    const isFirst = connected.size === 0;
    if (isFirst && from === undefined) return false;
    return (
      page.messages.some(({ position }) => position.at > edge || ids.has(position.id)) ||
      [...connected].some(({ next }) => next === page)
    );
  };
  for (let found = true; found;) {
    found = false;
    for (const page of pages) {
      const end = page.hasOldest ? -Infinity : page.messages.at(-1)?.position.at;
      if (connected.has(page) || end === undefined || !continues(page)) continue;
      connected.add(page);
      for (const { position } of page.messages) ids.add(position.id);
      found = true;
      if (end > edge) continue;
      edge = end;
      last = page;
    }
  }
  const hasOldest = [...connected].some((page) => page.hasOldest);
  const union = new Map<string, PlacedMessage>();
  for (const page of pages)
    if (connected.has(page)) for (const placed of page.messages) union.set(placed.position.id, placed);
  const messages = [...union.values()]
    .filter(({ position }) => (hasOldest || position.at > edge) && isBelow(position, from))
    .sort((a, b) => comparePositions(b.position, a.position));
  return {
    isConnected: last !== undefined,
    messages,
    edge: hasOldest ? undefined : oldestOf(from, { at: edge }),
    last,
  };
}

function isBelow(position: Position, from: Position | undefined): boolean {
  return from === undefined || comparePositions(position, from) < 0;
}

function oldestOf(from: Position | undefined, edge: Position): Position {
  return from !== undefined && comparePositions(from, edge) < 0 ? from : edge;
}
