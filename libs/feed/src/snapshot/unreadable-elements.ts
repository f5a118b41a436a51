/**
 * How the number of unreadable elements in an account's contact list changed from read to read. The id of an
 * unreadable element is not known, so the element may be a contact that seems to be missing from the list. A
 * missing contact can be such an element only if it went missing in a read in which the number of unreadable
 * elements rose.
 */
export interface UnreadableElementHistory {
  /** Number of unreadable elements in the contact list at the last read. */
  count: number;
  /** When the last read of the contact list ended, in milliseconds since 1970 by Redis' clock. */
  at: number;
  /** Number of unreadable elements in the contact list before the first entry of {@link rises}. */
  base: number;
  /**
   * The increases of the number of unreadable elements, oldest first. Empty after the number has fallen to
   * {@link base} or below.
   */
  rises: readonly CountRise[];
}

interface CountRise {
  /**
   * Times at which two reads of the contact list ended: the last read before the number of unreadable elements rose,
   * and the first read after that. If increases were merged (see {@link MAX_RISES}), the read before the first and
   * the read after the last of them. In milliseconds since 1970 by Redis' clock.
   */
  from: number;
  to: number;
}

/** Max length of {@link UnreadableElementHistory.rises}. In a longer list, the two oldest entries are merged. */
const MAX_RISES = 20;

/**
 * Returns the history of unreadable elements after one more read of the contact list.
 * @param before history before the read; undefined at the first read
 * @param count number of unreadable elements that the read found
 * @param at when the read ended, in milliseconds since 1970 by Redis' clock
 */
export function updateUnreadableElementHistory(
  before: UnreadableElementHistory | undefined,
  count: number,
  at: number,
): UnreadableElementHistory {
  if (before === undefined) return { count, at, base: count, rises: [] };
  const base = before.rises.length === 0 ? before.count : before.base;
  if (count <= base) return { count, at, base: count, rises: [] };
  const rises = count > before.count ? joined([...before.rises, { from: before.at, to: at }]) : before.rises;
  return { count, at, base, rises };
}

/**
 * Returns true if a contact that is missing from the contact list may be one of the list's unreadable elements.
 * @param missingSince time since which the contact is missing, in milliseconds since 1970 by Redis' clock
 */
export function mayMissingContactBeUnreadable(
  history: UnreadableElementHistory,
  missingSince: number,
): boolean {
  // A contact may be unreadable if it was first missing in the read that ended at `to`, even if the previous read
  // ended in the same millisecond. If increases were merged, contacts that went missing between `from` and `to` count
  // too.
  return history.rises.some(
    ({ from, to }) => missingSince === to || (missingSince > from && missingSince < to),
  );
}

function joined(rises: readonly CountRise[]): readonly CountRise[] {
  const [first, second, ...rest] = rises;
  if (rises.length <= MAX_RISES || first === undefined || second === undefined) return rises;
  return [{ from: first.from, to: second.to }, ...rest];
}

/** Converts the history of unreadable elements to the text that is stored in Redis. */
export function serializeUnreadableElementHistory({
  count,
  at,
  base,
  rises,
}: UnreadableElementHistory): string {
  return [count, at, base, ...rises.flatMap(({ from, to }) => [from, to])].join(' ');
}

/**
 * Converts the text that is stored in Redis to the history of unreadable elements.
 * @param text the stored text; absent if the contact list was never stored, or only by older builds of Tidings
 * @param baseline number of unreadable elements to assume if `text` is absent
 */
export function parseUnreadableElementHistory(
  text: string | null | undefined,
  baseline: number,
): UnreadableElementHistory {
  const [count = baseline, at = 0, base = count, ...times] = text?.split(' ').map(Number) ?? [];
  const rises: CountRise[] = [];
  for (let i = 0; i + 1 < times.length; i += 2) rises.push({ from: times[i] ?? 0, to: times[i + 1] ?? 0 });
  return { count, at, base, rises };
}
