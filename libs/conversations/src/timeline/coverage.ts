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
  /** The page that follows this one without a gap, towards older messages; absent if no page is known to do so. */
  next?: PlacedPage;
}

/** What pages that were read prove about the messages older than a position. */
export interface Coverage {
  /** True if connected pages reach from a message newer than the position to the position or below it. */
  isConnected: boolean;
  /** Messages that are surely complete, newest first. */
  messages: readonly PlacedMessage[];
  /**
   * All messages from this position up to the given one are in {@link messages}. Undefined if no older message
   * follows.
   */
  edge: Position | undefined;
  /** The connected page that reaches farthest towards older messages. */
  last: PlacedPage | undefined;
}

/**
 * Combines pages that were read at different times, while messages came and went, and finds out which messages
 * they prove to be complete. Pages that continue one another without a gap are called connected.
 *
 * A page is one consistent view. Two pages prove that nothing between them is missed if they share a message:
 * a message that existed throughout cannot be between a shared message and itself. In the same way, a page
 * continues the timeline at a position if it contains a newer message, or begins with the newest one. The
 * order of messages with equal timestamps is not known, so these are complete only if an older message
 * follows.
 *
 * @param from the position below which the messages are wanted; undefined for the newest messages
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
