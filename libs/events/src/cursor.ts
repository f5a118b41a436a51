/** A place in one account's log, of one installation. */
export interface Cursor {
  epoch: string;
  position: string;
}

/** The cursor as callers see it: opaque text. */
export function formatCursor(cursor: Cursor): string {
  return Buffer.from(`${cursor.epoch}/${cursor.position}`).toString('base64url');
}

/** The cursor of a text that {@link formatCursor} made, or undefined for any other text. */
export function parseCursor(text: string): Cursor | undefined {
  const [, epoch, position] =
    /^(\w+)\/(\d{1,20}-\d{1,20})$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (epoch === undefined || position === undefined) return undefined;
  return position.split('-').every((part) => BigInt(part) <= LARGEST_PART) ? { epoch, position } : undefined;
}

/** Redis counts both parts of a place in 64 bits, and refuses any other. */
const LARGEST_PART = 2n ** 64n - 1n;

/** Whether the first place in the log is before the second. */
export function isBefore(first: string, second: string): boolean {
  const [ms = '0', n = '0'] = first.split('-');
  const [otherMs = '0', otherN = '0'] = second.split('-');
  return BigInt(ms) === BigInt(otherMs) ? BigInt(n) < BigInt(otherN) : BigInt(ms) < BigInt(otherMs);
}
