/** Returns the arguments that pass a list to a Lua script: the length of the list, then the items. */
export function lengthAndItems(items: readonly string[]): (string | number)[] {
  return [items.length, ...items];
}
