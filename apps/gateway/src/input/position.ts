/** Encodes a position in a list as an opaque cursor. The cursor is valid for that list only. */
export function encodePosition(list: string, position: number): string {
  return Buffer.from(`${list}/${position}`).toString('base64url');
}

/** Decodes a cursor of {@link encodePosition}. Returns undefined for any other value and for a cursor of another list. */
export function decodePosition(list: string, value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > 100) return undefined;
  const [, named, position] = /^(\w+)\/(\d{1,15})$/.exec(Buffer.from(value, 'base64url').toString()) ?? [];
  return named === list ? Number(position) : undefined;
}
