import { comparePositions, type Position } from '../position.js';
import type { TimelineMessage } from './ports.js';

/** A message with its position. */
export interface PlacedMessage {
  position: Position & { id: string };
  message: TimelineMessage;
}

/** A page that was read, as a stretch of the timeline. */
export interface Stretch {
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
  /** A stretch that continues without a gap in this one, towards older messages. */
  next?: Stretch;
}

/** What stretches prove about the messages older than a position. */
export interface Coverage {
  /** True if stretches reach from above the position to it or below. */
  isConnected: boolean;
  /** Messages that are surely complete, newest first. */
  messages: readonly PlacedMessage[];
  /**
   * All messages from this position up to the given one are in {@link messages}. Undefined if no older message
   * follows.
   */
  edge: Position | undefined;
  /** The connected stretch that reaches farthest towards older messages. */
  last: Stretch | undefined;
}

/**
 * Combines pages that were read at different times, while messages came and went.
 *
 * A page is one consistent view. Two pages prove that nothing between them is missed if they share a message:
 * a message that existed throughout cannot be between a shared message and itself. In the same way, a page
 * continues the timeline at a position if it contains a newer message, or begins with the newest one. The
 * order of messages with equal timestamps is not known, so these are complete only if an older message
 * follows.
 *
 * @param from the position below which the messages are wanted; undefined for the newest messages
 */
export function coverageOf(stretches: readonly Stretch[], from: Position | undefined): Coverage {
  const connected = new Set<Stretch>();
  const ids = new Set<string>();
  let edge = from?.at ?? Infinity;
  let last: Stretch | undefined;
  const continues = (stretch: Stretch): boolean => {
    if (stretch.hasNewest) return true;
    const isFirst = connected.size === 0;
    if (isFirst && from === undefined) return false;
    return (
      stretch.messages.some(({ position }) => position.at > edge || ids.has(position.id)) ||
      [...connected].some(({ next }) => next === stretch)
    );
  };
  for (let found = true; found;) {
    found = false;
    for (const stretch of stretches) {
      const end = stretch.hasOldest ? -Infinity : stretch.messages.at(-1)?.position.at;
      if (connected.has(stretch) || end === undefined || !continues(stretch)) continue;
      connected.add(stretch);
      for (const { position } of stretch.messages) ids.add(position.id);
      found = true;
      if (end > edge) continue;
      edge = end;
      last = stretch;
    }
  }
  const hasOldest = [...connected].some((stretch) => stretch.hasOldest);
  const union = new Map<string, PlacedMessage>();
  for (const stretch of stretches)
    if (connected.has(stretch)) for (const placed of stretch.messages) union.set(placed.position.id, placed);
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
