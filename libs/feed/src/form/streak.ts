/**
 * Detects whether a field is volatile: differs at nearly every read. Judges by a few sampled elements (messages
 * or contacts) that have the field. Pure; used for the fields of a contact's messages and of an account's
 * contacts.
 *
 * A streak starts when the field differs for nearly all elements that have it. The streak grows when the
 * samples differ again, and shrinks when they do not.
 *
 * 1. The first {@link MutingThresholds.emittedReads} differing reads emit events.
 * 2. The next differing read is *withheld*: no event, and the snapshot stays. If the field then stands still
 * for two reads,    the change is emitted, so that no change is lost.
 * 3. At one more differing read the field is *muted*: no events. It is unmuted after five consecutive reads
 * without change.
 *
 * A field that differs at every read therefore emits {@link MutingThresholds.emittedReads} events per element
 * and no more.
 */
export interface Streak {
  /**
   * Reads at which the field differed, minus reads at which it did not; at most {@link
   * MutingThresholds.emittedReads} + 2.
   */
  length: number;
  /** Consecutive reads without a change, counted while the field is withheld or muted. */
  unchangedReads: number;
  muted: boolean;
  /** True if at least {@link MutingThresholds.samples} elements had the field at a read since it was muted. */
  isCommon: boolean;
  /**
   * Consecutive reads that contained no sampled element. New samples are taken after {@link MAX_MISSED_READS}.
   */
  missedReads: number;
  /** Sampled elements, at most {@link MutingThresholds.samples}. */
  samples: readonly Sample[];
}

/** An element that has the field, and the field's value there, each as a few bits of a hash. */
export interface Sample {
  elementHash: number;
  value: number;
}

/** Number of reads and samples after which a field is muted. */
export interface MutingThresholds {
  /** Number of consecutive differing reads that emit events. */
  emittedReads: number;
  samples: number;
}

/** Values of one field in the elements of one read. */
export interface FieldView {
  /**
   * Number of known elements that have the field, and number of these elements whose value differs from the
   * snapshot.
   */
  carrying: number;
  differing: number;
  /** Returns elements that have the field, sorted by how likely the next read contains them. */
  carriers(): readonly Sample[];
  /** Returns the field's value in a sampled element; undefined if the read does not contain the element. */
  valueOf(elementHash: number): number | undefined;
}

/** Minimum share of elements whose field must differ for a read to count as a differing read. */
const MIN_DIFFERING_SHARE = 0.8;
/** Share of samples that must differ: with few samples, one may stand still by chance. */
const MIN_DIFFERING_SAMPLES = 0.75;
const MAX_MISSED_READS = 3;
const STILL_READS_UNTIL_EMITTED = 2;
const STILL_READS_UNTIL_UNMUTED = 5;

/**
 * Returns the streak after a read, or undefined if the field is no longer volatile; and whether the read
 * contained a sampled element.
 */
export function streakAfterRead(
  streak: Streak | undefined,
  view: FieldView,
  thresholds: MutingThresholds,
): { streak: Streak | undefined; shown: boolean } {
  const differsForMost = view.differing > 0 && view.differing >= MIN_DIFFERING_SHARE * view.carrying;
  const sampled = (): readonly Sample[] => view.carriers().slice(0, thresholds.samples);
  if (streak === undefined) {
    if (!differsForMost) return { streak: undefined, shown: false };
    const samples = sampled();
    return {
      streak: { length: 1, unchangedReads: 0, muted: false, isCommon: false, missedReads: 0, samples },
      shown: true,
    };
  }
  const values = streak.samples.map(({ elementHash, value }) => ({ value, now: view.valueOf(elementHash) }));
  const seen = values.filter(({ now }) => now !== undefined);
  if (seen.length === 0) {
    return { streak: missing(streak, sampled), shown: false };
  }
  const moved = seen.filter(({ value, now }) => value !== now).length;
  const continues =
    moved > 0 &&
    moved >= MIN_DIFFERING_SAMPLES * seen.length &&
    (differsForMost || isFieldQuiet(streak, thresholds));
  const next = continues ? lengthened(streak, thresholds) : shortened(streak, thresholds);
  if (next === undefined) return { streak: undefined, shown: true };
  const samples = sampled();
  const isCommon = next.isCommon || (next.muted && samples.length === thresholds.samples);
  return { streak: { ...next, isCommon, missedReads: 0, samples }, shown: true };
}

/** Returns the streak after a read without any sampled element: the elements may be gone, or on other pages. */
function missing(streak: Streak, sampled: () => readonly Sample[]): Streak {
  if (streak.missedReads < MAX_MISSED_READS) return { ...streak, missedReads: streak.missedReads + 1 };
  const samples = sampled();
  return samples.length === 0 ? streak : { ...streak, missedReads: 0, samples };
}

/** Returns true if changes of the field emit no events: the field is withheld or muted. */
export function isFieldQuiet({ length, muted }: Streak, { emittedReads }: MutingThresholds): boolean {
  return muted || length > emittedReads;
}

function lengthened(streak: Streak, { emittedReads }: MutingThresholds): Streak {
  const length = Math.min(streak.length + 1, emittedReads + 2);
  return { ...streak, length, unchangedReads: 0, muted: streak.muted || length > emittedReads + 1 };
}

function shortened(streak: Streak, thresholds: MutingThresholds): Streak | undefined {
  if (!isFieldQuiet(streak, thresholds)) {
    return streak.length === 1 ? undefined : { ...streak, length: streak.length - 1 };
  }
  const unchangedReads = streak.unchangedReads + 1;
  return unchangedReads < (streak.muted ? STILL_READS_UNTIL_UNMUTED : STILL_READS_UNTIL_EMITTED)
    ? { ...streak, unchangedReads }
    : undefined;
}
