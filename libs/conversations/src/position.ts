/**
 * Position in a timeline: a time, then an id. The greatest position is the newest. Ids are compared by their
 * UTF-8 bytes.
 */
export interface Position {
  /** Time in milliseconds since 1970. `-Infinity` for a message without a timestamp. */
  at: number;
  /** Id of a message or send. Without an id, the position is newer than every message and send at the time `at`. */
  id?: string;
}

/** Returns a negative number if the first position is older, a positive number if it is newer, else 0. */
export function comparePositions(a: Position, b: Position): number {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1;
  if (a.id === b.id) return 0;
  if (a.id === undefined) return 1;
  if (b.id === undefined) return -1;
  return Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
}

/** Returns the newer of two positions. Undefined stands for a position older than all others. */
export function newerPosition(a: Position | undefined, b: Position | undefined): Position | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return comparePositions(a, b) >= 0 ? a : b;
}
