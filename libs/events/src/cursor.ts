/** A position in the event log of one account. */
export interface Cursor {
  /**
   * Random id of the event log. If the log is lost and created again, the new log gets a different epoch.
   */
  epoch: string;
  /**
   * Id of an entry in the Redis stream: `<milliseconds>-<count>`. A read continues after this entry. `0-0` is before
   * the first entry.
   */
  position: string;
}

/** Converts a cursor to the opaque text that callers receive. */
export function formatCursor(cursor: Cursor): string {
  return Buffer.from(`${cursor.epoch}/${cursor.position}`).toString('base64url');
}

/** Parses a text that {@link formatCursor} returned. Returns undefined for a text that is not of this form. */
export function parseCursor(text: string): Cursor | undefined {
  const [, epoch, position] =
    /^(\w+)\/(\d{1,20}-\d{1,20})$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (epoch === undefined || position === undefined) return undefined;
  const [ms = 0n, count = 0n] = position.split('-').map(BigInt);
  return ms < LARGEST_PART && count <= LARGEST_PART ? { epoch, position } : undefined;
}

/**
 * Max value of each of the two numbers in the id of a Redis stream entry. Redis rejects a greater number, and also
 * a range that starts after the greatest possible id.
 */
const LARGEST_PART = 2n ** 64n - 1n;

/** Returns true if the first position in the log precedes the second. */
export function isLogPositionBefore(first: string, second: string): boolean {
  const [ms = '0', n = '0'] = first.split('-');
  const [otherMs = '0', otherN = '0'] = second.split('-');
  return BigInt(ms) === BigInt(otherMs) ? BigInt(n) < BigInt(otherN) : BigInt(ms) < BigInt(otherMs);
}
