/**
 * History of unreadable elements in an account's contact lists. Such an element has no id: it may be any
 * contact that went missing when the element appeared, but no contact that went missing at another time.
 */
export interface UnreadableElements {
  /** Number of unreadable elements in the last list. */
  count: number;
  /** Start of the read of that list, in milliseconds since 1970 by Redis' clock. */
  at: number;
  /** Number of unreadable elements before the number rose for the first time. */
  base: number;
  /** Each rise of the number, latest last. Empty once the number has fallen to {@link base} again. */
  rises: readonly CountRise[];
}

interface CountRise {
  /** Start of the read of the last list before the rise, and of the first list after it. */
  from: number;
  to: number;
}

/** Maximum number of rises kept. Beyond this number, the two oldest are merged. */
const MAX_RISES = 20;

/**
 * Returns the history after a list with `count` unreadable elements.
 * @param before undefined for the first list
 * @param at start of the read, in milliseconds since 1970 by Redis' clock
 */
export function unreadableAfterList(
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

/** Returns true if a contact missing since `missingSince` may be an unreadable element of the list. */
export function mayBeUnreadable({ rises }: UnreadableElements, missingSince: number): boolean {
  return rises.some(({ from, to }) => missingSince > from && missingSince <= to);
}

function joined(rises: readonly CountRise[]): readonly CountRise[] {
  const [first, second, ...rest] = rises;
  if (rises.length <= MAX_RISES || first === undefined || second === undefined) return rises;
  return [{ from: first.from, to: second.to }, ...rest];
}

/** Returns the text to store. */
export function serializeUnreadableElements({ count, at, base, rises }: UnreadableElements): string {
  return [count, at, base, ...rises.flatMap(({ from, to }) => [from, to])].join(' ');
}

/**
 * Parses the stored text.
 * @param text absent if only older builds have read lists
 * @param baseline value that older builds store: number of unreadable elements in the last list without missing
 * contacts
 */
export function parseUnreadableElements(
  text: string | null | undefined,
  baseline: number,
): UnreadableElements {
  const [count = baseline, at = 0, base = count, ...times] = text?.split(' ').map(Number) ?? [];
  const rises: CountRise[] = [];
  for (let i = 0; i + 1 < times.length; i += 2) rises.push({ from: times[i] ?? 0, to: times[i + 1] ?? 0 });
  return { count, at, base, rises };
}
