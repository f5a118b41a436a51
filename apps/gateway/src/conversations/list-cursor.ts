import type { ListPosition } from '#conversations';

const MAX_CURSOR_LENGTH = 2_000;

/** Encodes a position in the list of conversations as an opaque cursor. */
export function formatListCursor({ at, id }: ListPosition): string {
  return Buffer.from(JSON.stringify([at, id])).toString('base64url');
}

/** Decodes a cursor of {@link formatListCursor}. Returns undefined for any other value. */
export function parseListCursor(value: unknown): ListPosition | undefined {
  if (typeof value !== 'string' || value.length > MAX_CURSOR_LENGTH) return undefined;
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(value, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(parts) || parts.length !== 2) return undefined;
  const [at, id] = parts as unknown[];
  return typeof at === 'number' && Number.isFinite(at) && typeof id === 'string' ? { at, id } : undefined;
}
