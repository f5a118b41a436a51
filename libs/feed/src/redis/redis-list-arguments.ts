/** Returns the arguments by which a Lua script gets a list: its length, then its items. */
export function lengthAndItems(items: readonly string[]): (string | number)[] {
  return [items.length, ...items];
}
