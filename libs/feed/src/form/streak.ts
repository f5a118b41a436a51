/**
 * Counts consecutive reads at which a field of messages or contacts had a different value than at the previous read.
 * A long streak shows that the field is volatile.
 *
 * A streak starts when the field differs in nearly all messages or contacts that have the field. Some of them become
 * samples. A later read counts as a read with changes if the field differs in most of the samples that the read
 * contains. While changes of the field still emit events, the field must also differ in nearly all messages or
 * contacts that have it.
 *
 * 1. First {@link MutingThresholds.emittedReads} reads with changes: the changes emit events.
 * 2. Next read with changes: the changes are *withheld*. They emit no event, and the snapshot keeps the earlier
 *    value. If two reads without changes follow, the withheld changes are emitted.
 * 3. One more read with changes: the field is *muted*. Its changes emit no events. The field is unmuted after five
 *    consecutive reads without changes.
 *
 * A field that differs at every read therefore emits at most {@link MutingThresholds.emittedReads} events per message
 * or contact.
 */
export interface Streak {
  /**
   * Length of the streak. A read at which the field differs adds one. A read at which the field does not differ
   * subtracts one, but only while changes of the field emit events. At {@link MutingThresholds.emittedReads} +
   * 1, the changes are withheld. At {@link MutingThresholds.emittedReads} + 2, the maximum, the field is muted.
   */
  length: number;
  /**
   * Number of consecutive reads at which the field did not change. These reads are counted only while changes
   * of the field are withheld or muted.
   */
  unchangedReads: number;
  muted: boolean;
  /**
   * True if the muted field is common: since the field was muted, at least one read contained
   * {@link MutingThresholds.samples} or more messages or contacts that have the field.
   */
  isCommon: boolean;
  /**
   * Number of consecutive reads that contained none of the sampled messages or contacts. After
   * {@link MAX_MISSED_READS} such reads, the next such read samples other messages or contacts.
   */
  missedReads: number;
  /**
   * The sampled messages or contacts with their values of the field. At most
   * {@link MutingThresholds.samples}.
   */
  samples: readonly Sample[];
}

/**
 * A message or contact that has a certain field, stored as a hash of its id and a hash of the field's value.
 */
export interface Sample {
  elementHash: number;
  value: number;
}

/**
 * Decides when a field that differs at nearly every read is muted: after how many reads with changes, and how
 * many messages or contacts are sampled to detect the changes.
 */
export interface MutingThresholds {
  /**
   * Maximum number of consecutive reads at which changes of a field emit events. If the field also differs at
   * the next read, its changes are withheld.
   */
  emittedReads: number;
  samples: number;
}

/** What one read of messages or contacts shows about one of their fields. */
export interface FieldObservation {
  /**
   * `carrying`: number of known messages or contacts that have the field. `differing`: how many of these have a
   * value that differs from the snapshot.
   */
  carrying: number;
  differing: number;
  /**
   * Returns candidates for the samples of a field: messages or contacts that have the field. The candidates
   * that the next read will most likely contain come first.
   */
  carriers(): readonly Sample[];
  /**
   * Returns the hash of the field's value in a sampled message or contact; undefined if the read does not
   * contain that message or contact.
   */
  valueOf(elementHash: number): number | undefined;
}

/**
 * A streak starts only if the field's value differs from the snapshot in at least this share (0 to 1) of the messages
 * or contacts that have the field. The same share is needed for a streak to become longer while changes of the field
 * still emit events.
 */
const MIN_DIFFERING_SHARE = 0.8;
/**
 * A streak becomes longer only if the field differs in at least this share (0 to 1) of the sampled messages or
 * contacts that the read contains. The share is below 1, because one of a few samples may stay unchanged by chance.
 */
const MIN_DIFFERING_SAMPLES = 0.75;
const MAX_MISSED_READS = 3;
const STILL_READS_UNTIL_EMITTED = 2;
const STILL_READS_UNTIL_UNMUTED = 5;

/**
 * Returns the streak of a field after one more read. Has no side effects.
 * @param streak the streak before the read; undefined if the field has no streak, because the field does not seem
 * volatile
 * @param view what the read shows about the field
 * @returns `streak`: the streak after the read; undefined if no streak started or the streak ended. `showsSamples`:
 * true if the read contained at least one of the sampled messages or contacts
 */
export function updateFieldChangeStreak(
  streak: Streak | undefined,
  view: FieldObservation,
  thresholds: MutingThresholds,
): { streak: Streak | undefined; showsSamples: boolean } {
  const differsForMost = view.differing > 0 && view.differing >= MIN_DIFFERING_SHARE * view.carrying;
  const sampled = (): readonly Sample[] => view.carriers().slice(0, thresholds.samples);
  if (streak === undefined) {
    if (!differsForMost) return { streak: undefined, showsSamples: false };
    const samples = sampled();
    return {
      streak: { length: 1, unchangedReads: 0, muted: false, isCommon: false, missedReads: 0, samples },
      showsSamples: true,
    };
  }
  const values = streak.samples.map(({ elementHash, value }) => ({ value, now: view.valueOf(elementHash) }));
  const seen = values.filter(({ now }) => now !== undefined);
  if (seen.length === 0) {
    return { streak: missing(streak, sampled), showsSamples: false };
  }
  const moved = seen.filter(({ value, now }) => value !== now).length;
  const continues =
    moved > 0 &&
    moved >= MIN_DIFFERING_SAMPLES * seen.length &&
    (differsForMost || isFieldWithheldOrMuted(streak, thresholds));
  const next = continues ? lengthened(streak, thresholds) : shortened(streak, thresholds);
  if (next === undefined) return { streak: undefined, showsSamples: true };
  const samples = sampled();
  const isCommon = next.isCommon || (next.muted && samples.length === thresholds.samples);
  return { streak: { ...next, isCommon, missedReads: 0, samples }, showsSamples: true };
}

/** Returns the streak of a field after a read that contained none of the sampled messages or contacts. */
function missing(streak: Streak, sampled: () => readonly Sample[]): Streak {
  if (streak.missedReads < MAX_MISSED_READS) return { ...streak, missedReads: streak.missedReads + 1 };
  const samples = sampled();
  return samples.length === 0 ? streak : { ...streak, missedReads: 0, samples };
}

/** Returns true if changes of a field emit no events, because the field is withheld or muted. */
export function isFieldWithheldOrMuted(
  { length, muted }: Streak,
  { emittedReads }: MutingThresholds,
): boolean {
  return muted || length > emittedReads;
}

function lengthened(streak: Streak, { emittedReads }: MutingThresholds): Streak {
  const length = Math.min(streak.length + 1, emittedReads + 2);
  return { ...streak, length, unchangedReads: 0, muted: streak.muted || length > emittedReads + 1 };
}

function shortened(streak: Streak, thresholds: MutingThresholds): Streak | undefined {
  if (!isFieldWithheldOrMuted(streak, thresholds)) {
    return streak.length === 1 ? undefined : { ...streak, length: streak.length - 1 };
  }
  const unchangedReads = streak.unchangedReads + 1;
  return unchangedReads < (streak.muted ? STILL_READS_UNTIL_UNMUTED : STILL_READS_UNTIL_EMITTED)
    ? { ...streak, unchangedReads }
    : undefined;
}
