/** Every name that is documented somewhere, by its letters and digits alone. */
export type KnownNames = ReadonlyMap<string, string>;

/** The names that another one must not resemble: a slip in one of them is told rather than handed on. */
export function knownNames(names: readonly string[]): KnownNames {
  return new Map(names.map((name) => [letters(name), name]));
}

/** The documented name that this one differs from by case, `-` or `_` alone. */
export function meantBy(known: KnownNames, name: string): string | undefined {
  return known.get(letters(name));
}

function letters(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '');
}
