/** A position in the event log of one account. */
export interface Cursor {
  /** Random id of the log. A recreated log has another epoch. */
  epoch: string;
  /** Id of an entry in the Redis stream: `<milliseconds>-<count>`. */
  position: string;
}

/** Returns the opaque text that callers receive for a cursor. */
export function formatCursor(cursor: Cursor): string {
  return Buffer.from(`${cursor.epoch}/${cursor.position}`).toString('base64url');
}

/** Parses a text that {@link formatCursor} returned. Returns undefined for any other text. */
export function parseCursor(text: string): Cursor | undefined {
  const [, epoch, position] =
    /^(\w+)\/(\d{1,20}-\d{1,20})$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (epoch === undefined || position === undefined) return undefined;
  return position.split('-').every((part) => BigInt(part) <= LARGEST_PART) ? { epoch, position } : undefined;
}

/** Max value of either part of a position. Redis stores each part in 64 bits and rejects larger numbers. */
const LARGEST_PART = 2n ** 64n - 1n;

/** Returns true if the first position in the log precedes the second. */
export function isBefore(first: string, second: string): boolean {
  const [ms = '0', n = '0'] = first.split('-');
  const [otherMs = '0', otherN = '0'] = second.split('-');
  return BigInt(ms) === BigInt(otherMs) ? BigInt(n) < BigInt(otherN) : BigInt(ms) < BigInt(otherMs);
}
