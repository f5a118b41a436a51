/**
 * What is remembered of the elements of an account's contact lists that could not be read. Such an element has no id: it
 * may be any contact that went missing when the element appeared, but none that went missing at another time.
 */
export interface UnreadableElements {
  /** How many the last list held. */
  count: number;
  /** When the reading of that list began, by Redis' clock, in milliseconds since 1970. */
  at: number;
  /** How many there were before the first rise. */
  base: number;
  /** Between which two lists their number rose, the latest last; empty once it is back to the base. */
  rises: readonly Rise[];
}

interface Rise {
  /** When the last list with fewer of them began, and the first with more. */
  from: number;
  to: number;
}

/** When there are more, the two oldest become one. */
const MAX_RISES = 20;

/**
 * What is remembered after a list that was read at this time, of which so many elements could not be read.
 * @param before undefined if it is the first
 */
export function afterList(
  before: UnreadableElements | undefined,
  count: number,
  at: number,
): UnreadableElements {
  if (before === undefined) return { count, at, base: count, rises: [] };
  const base = before.rises.length === 0 ? before.count : before.base;
  if (count <= base) return { count, at, base: count, rises: [] };
  const rises = count > before.count ? joined([...before.rises, { from: before.at, to: at }]) : before.rises;
  return { count, at, base, rises };
}

/** Whether a contact that is missing since then may be there, as an element that cannot be read. */
export function mayBeUnreadable({ rises }: UnreadableElements, missingSince: number): boolean {
  return rises.some(({ from, to }) => missingSince > from && missingSince <= to);
}

function joined(rises: readonly Rise[]): readonly Rise[] {
  const [first, second, ...rest] = rises;
  if (rises.length <= MAX_RISES || first === undefined || second === undefined) return rises;
  return [{ from: first.from, to: second.to }, ...rest];
}

/** As it is stored. */
export function writeUnreadable({ count, at, base, rises }: UnreadableElements): string {
  return [count, at, base, ...rises.flatMap(({ from, to }) => [from, to])].join(' ');
}

/**
 * @param text as it was written; absent where only older builds read lists
 * @param baseline what those kept: how many there were in the last list that missed nobody
 */
export function readUnreadable(text: string | null | undefined, baseline: number): UnreadableElements {
  const [count = baseline, at = 0, base = count, ...times] = text?.split(' ').map(Number) ?? [];
  const rises: Rise[] = [];
  for (let i = 0; i + 1 < times.length; i += 2) rises.push({ from: times[i] ?? 0, to: times[i + 1] ?? 0 });
  return { count, at, base, rises };
}
