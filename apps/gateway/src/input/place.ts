/** A place in a list that counts its members, as callers see it: opaque text, of that list alone. */
export function formatPlace(list: string, place: number): string {
  return Buffer.from(`${list}/${place}`).toString('base64url');
}

/** The place of a text that {@link formatPlace} made for the list, or undefined for anything else. */
export function parsePlace(list: string, value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > 100) return undefined;
  const [, named, place] = /^(\w+)\/(\d{1,15})$/.exec(Buffer.from(value, 'base64url').toString()) ?? [];
  return named === list ? Number(place) : undefined;
}
