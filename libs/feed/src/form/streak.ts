/**
 * Whether one field differs at nearly every read, found out from a few of those that carry it: at each read they are
 * looked for again. Pure; used for the fields of a contact's messages, and for those of an account's contacts.
 *
 * A field that differs for nearly all that carry it begins a streak, and what differs is told. The streak goes on while
 * the same few differ again, and shrinks with each read at which they do not. One that is longer than what is told is
 * *withheld*: nothing is told, and nothing taken for known, until it either stands still for two reads (then it is told
 * as it stands, so that no difference is lost), or goes on for one more (then it is *muted*). What is muted is heard
 * again when it has stood still for five reads in a row.
 *
 * So a field that differs at every read gives as many events as are told, and never more; whatever differs at no more
 * than so many reads in a row is told at once, each time.
 */
export interface Streak {
  /** Reads at which it differed, less those at which it did not: up to {@link Patience.told} and two. */
  length: number;
  /** Reads in a row at which it stood still, while it is withheld or muted. */
  still: number;
  muted: boolean;
  /** Whether, since it is muted, as many carried it as are sampled. */
  many: boolean;
  /** Reads in a row that showed none of the samples: others are taken after {@link MAX_MISSED}. */
  missed: number;
  /** At most {@link Patience.samples}. */
  samples: readonly Sample[];
}

/** One of those that carry the field, and the field's value, each by a few bits of its hash. */
export interface Sample {
  mark: number;
  value: number;
}

/** How soon a field is muted. */
export interface Patience {
  /** At how many reads in a row it is told that the field differs. */
  told: number;
  samples: number;
}

/** What one read shows of a field. */
export interface FieldView {
  /** How many of those that were known carry it, and for how many of them it differs from what is known. */
  carrying: number;
  differing: number;
  /** Some of those that carry it: those that will most likely be seen again first. */
  carriers(): readonly Sample[];
  /** The field's value in one of those that were sampled; undefined if the read does not show it. */
  valueOf(mark: number): number | undefined;
}

/** So large a part is "nearly all". */
const NEARLY_ALL = 0.8;
/** Of so few samples one may stand still by chance. */
const MOST_SAMPLES = 0.75;
const MAX_MISSED = 3;
const STILL_UNTIL_TOLD = 2;
const STILL_UNTIL_HEARD = 5;

/** How a field stands after a read; undefined: nothing is remembered of it. */
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

/** The samples may be gone, or the read may have been of other messages than the last one. */
function missing(streak: Streak, sampled: () => readonly Sample[]): Streak {
  if (streak.missed < MAX_MISSED) return { ...streak, missed: streak.missed + 1 };
  const samples = sampled();
  return samples.length === 0 ? streak : { ...streak, missed: 0, samples };
}

/** Whether what differs is withheld or muted. */
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
