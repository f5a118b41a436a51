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
  /** True if no message in upstream's list was newer than the messages of the page when the page was read. */
  hasNewest: boolean;
  /** True if no message in upstream's list was older than the messages of the page when the page was read. */
  hasOldest: boolean;
  /** The page with the next older messages. Present only if that page is known to follow without a gap. */
  next?: PlacedPage;
}

/** Consecutive messages of a contact: the result of {@link joinPagesWithoutGap}. */
export interface MessagesWithoutGap {
  /**
   * False if the pages that were read do not reach the position at which the wanted messages begin, or if the newest
   * messages are wanted and the pages have only unreadable elements. {@link messages} is then empty.
   */
  isConnected: boolean;
  /** All wanted messages that are newer than {@link edge}, newest first. */
  messages: readonly PlacedMessage[];
  /**
   * Position down to which no wanted message is missing: {@link messages} contains all wanted messages that are newer
   * than this position. Undefined if {@link messages} reaches to the oldest message of the list.
   */
  edge: Position | undefined;
  /**
   * The oldest of the pages that {@link joinPagesWithoutGap} combined. Undefined if the pages that were read do not
   * reach the position at which the wanted messages begin.
   */
  last: PlacedPage | undefined;
}

/**
 * Combines overlapping pages of one list, which were read at different times. Returns messages older than `from`,
 * without a gap.
 *
 * The first page of the result contains the newest message of the list or a message newer than `from`. Another page
 * is added to the result if it has a message in common with the result, if it has a message newer than the oldest
 * message of the result, or if it is known to follow a page of the result without a gap. Other pages are ignored,
 * because messages between them and the result may be missing.
 *
 * The messages of the result with the oldest timestamp are left out, because more messages with this timestamp may be
 * on a page that was not read. If the result contains the oldest message of the list, nothing is left out.
 *
 * @param from position in the timeline; undefined if the newest messages are wanted
 */
export function joinPagesWithoutGap(
  pages: readonly PlacedPage[],
  from: Position | undefined,
): MessagesWithoutGap {
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
      if (connected.has(page) || !continues(page)) continue;
      // A page with only unreadable elements does not show how far back it reaches.
      const end = page.hasOldest ? -Infinity : (page.messages.at(-1)?.position.at ?? edge);
      connected.add(page);
      for (const { position } of page.messages) ids.add(position.id);
      found = true;
      if (end > edge) continue;
      edge = end;
      last = page;
    }
  }
  while (last?.next !== undefined && connected.has(last.next) && last.next.messages.length === 0)
    last = last.next;
  const hasOldest = [...connected].some((page) => page.hasOldest);
  const union = new Map<string, PlacedMessage>();
  for (const page of pages)
    if (connected.has(page)) for (const placed of page.messages) union.set(placed.position.id, placed);
  const messages = [...union.values()]
    .filter(({ position }) => (hasOldest || position.at > edge) && isBelow(position, from))
    .sort((a, b) => comparePositions(b.position, a.position));
  return {
    isConnected: last !== undefined && edge !== Infinity,
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
