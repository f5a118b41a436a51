/** The documented names of fields or parameters, each by its normalized form: lower case without `-` and `_`. */
export type KnownNames = ReadonlyMap<string, string>;

/** Indexes documented names, so that a misspelled name is rejected instead of passed on to upstream. */
export function knownNames(names: readonly string[]): KnownNames {
  return new Map(names.map((name) => [normalized(name), name]));
}

/** Returns the documented name that differs from the given name only by case, `-` or `_`. */
export function suggestedName(known: KnownNames, name: string): string | undefined {
  return known.get(normalized(name));
}

function normalized(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '');
}
