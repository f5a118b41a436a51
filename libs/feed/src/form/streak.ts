/**
 * Detects whether a field is volatile: differs at nearly every read. Judges by a few sampled elements (messages or
 * contacts) that have the field. Pure; used for the fields of a contact's messages and of an account's contacts.
 *
 * A streak starts when the field differs for nearly all elements that have it. The streak grows when the samples differ
 * again, and shrinks when they do not.
 *
 * 1. The first {@link Patience.told} differing reads emit events.
 * 2. The next differing read is *withheld*: no event, and the snapshot stays. If the field then stands still for two reads,
 *    the change is emitted, so that no change is lost.
 * 3. At one more differing read the field is *muted*: no events. It is unmuted after five consecutive reads without change.
 *
 * A field that differs at every read therefore emits `told` events per element and no more.
 */
export interface Streak {
  /** Reads at which the field differed, minus reads at which it did not; at most {@link Patience.told} + 2. */
  length: number;
  /** Consecutive reads without a change, counted while the field is withheld or muted. */
  still: number;
  muted: boolean;
  /** True if at least {@link Patience.samples} elements had the field at a read since it was muted. */
  many: boolean;
  /** Consecutive reads that contained no sampled element. New samples are taken after {@link MAX_MISSED}. */
  missed: number;
  /** Sampled elements, at most {@link Patience.samples}. */
  samples: readonly Sample[];
}

/** An element that has the field, and the field's value there, each as a few bits of a hash. */
export interface Sample {
  mark: number;
  value: number;
}

/** Thresholds for muting a field. */
export interface Patience {
  /** Number of consecutive differing reads that emit events. */
  told: number;
  samples: number;
}

/** A field as one read shows it. */
export interface FieldView {
  /** Number of known elements that have the field, and number of those whose value differs from the snapshot. */
  carrying: number;
  differing: number;
  /** Returns elements that have the field, those most likely to be read again first. */
  carriers(): readonly Sample[];
  /** Returns the field's value in a sampled element; undefined if the read does not contain the element. */
  valueOf(mark: number): number | undefined;
}

/** Share of elements that counts as "nearly all". */
const NEARLY_ALL = 0.8;
/** Share of samples that must differ: with few samples, one may stand still by chance. */
const MOST_SAMPLES = 0.75;
const MAX_MISSED = 3;
const STILL_UNTIL_TOLD = 2;
const STILL_UNTIL_HEARD = 5;

/** Returns the streak after a read (undefined: none), and whether the read contained a sampled element. */
export function advance(
  streak: Streak | undefined,
  view: FieldView,
  patience: Patience,
): { streak: Streak | undefined; shown: boolean } {
  const differsForMost = view.differing > 0 && view.differing >= NEARLY_ALL * view.carrying;
  const sampled = (): readonly Sample[] => view.carriers().slice(0, patience.samples);
  if (streak === undefined) {
    if (!differsForMost) return { streak: undefined, shown: false };
    const samples = sampled();
    return { streak: { length: 1, still: 0, muted: false, many: false, missed: 0, samples }, shown: true };
  }
  const values = streak.samples.map(({ mark, value }) => ({ value, now: view.valueOf(mark) }));
  const seen = values.filter(({ now }) => now !== undefined);
  if (seen.length === 0) {
    return { streak: missing(streak, sampled), shown: false };
  }
  const moved = seen.filter(({ value, now }) => value !== now).length;
  const goesOn =
    moved > 0 && moved >= MOST_SAMPLES * seen.length && (differsForMost || isQuiet(streak, patience));
  const next = goesOn ? longer(streak, patience) : stiller(streak, patience);
  if (next === undefined) return { streak: undefined, shown: true };
  const samples = sampled();
  const many = next.many || (next.muted && samples.length === patience.samples);
  return { streak: { ...next, many, missed: 0, samples }, shown: true };
}

/** Returns the streak after a read without any sampled element: the elements may be gone, or on other pages. */
function missing(streak: Streak, sampled: () => readonly Sample[]): Streak {
  if (streak.missed < MAX_MISSED) return { ...streak, missed: streak.missed + 1 };
  const samples = sampled();
  return samples.length === 0 ? streak : { ...streak, missed: 0, samples };
}

/** Returns true if changes of the field emit no events: the field is withheld or muted. */
export function isQuiet({ length, muted }: Streak, { told }: Patience): boolean {
  return muted || length > told;
}

function longer(streak: Streak, { told }: Patience): Streak {
  const length = Math.min(streak.length + 1, told + 2);
  return { ...streak, length, still: 0, muted: streak.muted || length > told + 1 };
}

function stiller(streak: Streak, patience: Patience): Streak | undefined {
  if (!isQuiet(streak, patience)) {
    return streak.length === 1 ? undefined : { ...streak, length: streak.length - 1 };
  }
  const still = streak.still + 1;
  return still < (streak.muted ? STILL_UNTIL_HEARD : STILL_UNTIL_TOLD) ? { ...streak, still } : undefined;
}
