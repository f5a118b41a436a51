import { isRecord } from '#platform';
import type { UpstreamContact } from '#upstream';
import {
  contactFingerprintOf,
  contactFingerprintIncludingUrlSignatures,
  hashOfJsonValue,
} from './contact-fingerprint.js';
import { updateFieldChangeStreak, type MutingThresholds, type Sample, type Streak } from './streak.js';

/**
 * Which fields of an account's contacts are volatile: top-level fields that differ at nearly every read of
 * the contact list, for nearly all contacts that have the field. A field that changes for only a few contacts
 * at a time is never muted, because such changes matter: for example, if the date of the last message is new,
 * the contact must be polled at once.
 */
export interface VolatileContactFields {
  /**
   * The fields that are or may become volatile, by name, each with a count of the reads at which the field
   * differed. At most {@link MAX_FIELDS} fields.
   */
  fields: ReadonlyMap<string, Streak>;
  /**
   * Names of the fields that stopped being muted at the last read of the contact list. The next read adds these
   * fields to the stored fingerprints without emitting events.
   */
  settled: readonly string[];
}

export const NO_VOLATILE_CONTACT_FIELDS: VolatileContactFields = { fields: new Map(), settled: [] };

/** Maximum number of contact fields per account whose consecutive changes are counted. */
const MAX_FIELDS = 20;
/**
 * Maximum length of the name of a contact field, in characters. Changes of fields with longer names are not
 * counted, so these fields are never muted.
 */
const MAX_NAME = 64;

/**
 * Thresholds for muting a field that at least ten contacts have. People hardly ever edit so many contacts again
 * and again. If the field differs at more than two consecutive reads, only the changes at the first two emit
 * events.
 */
const MANY_CONTACTS: MutingThresholds = { emittedReads: 2, samples: 10 };
/**
 * Thresholds for muting a field that fewer than ten contacts have. So few contacts may differ at several consecutive
 * reads only because people edit them. If the field differs at more than nine consecutive reads, only the changes at
 * the first nine emit events.
 */
const FEW_CONTACTS: MutingThresholds = { emittedReads: 9, samples: 10 };

/** What a poll of the contact list does with a contact that is already known. */
export type ContactVerdict =
  /** The contact is unchanged. Its stored fingerprint stays, and no event is emitted. */
  | 'same'
  /**
   * The contact's new fingerprint is stored without an event, for example because only muted fields changed.
   */
  | 'quiet'
  /**
   * The stored fingerprint stays and no event is emitted yet, because the changed fields are probably volatile. If
   * the fields stop changing, a later read emits the change.
   */
  | 'withheld'
  | 'changed';

/**
 * Result of comparing a contact with its stored fingerprint. `same`: the contact is unchanged. `quiet`: only
 * fields that recently stopped being muted may differ; the new fingerprint is stored without an event.
 * `differs`: the caller must find the changed fields and pass them to
 * {@link VolatileContactFieldTracker.verdict}.
 */
export type QuickVerdict = 'same' | 'quiet' | 'differs';

interface Counts {
  carrying: number;
  differing: number;
  carriers: Sample[];
}

/**
 * Processes one read of the contact list: decides which changes of volatile fields emit events, and updates
 * the {@link Streak} of each field.
 */
export class VolatileContactFieldTracker {
  private readonly muted: ReadonlySet<string>;
  private readonly formerlyMuted: ReadonlySet<string> | undefined;
  private readonly withheld: ReadonlySet<string>;
  private readonly counts = new Map<string, Counts>();
  /**
   * Hashes of the values that this read shows for the sampled contacts: by field name, then by the hash of
   * the contact's id. A value that was not read yet is NaN.
   */
  private readonly sampled = new Map<string, Map<number, number>>();

  constructor(private readonly before: VolatileContactFields) {
    const names = (of: (streak: Streak) => boolean): string[] =>
      [...before.fields].filter(([, streak]) => of(streak)).map(([name]) => name);
    this.muted = new Set(names(({ muted }) => muted));
    // Whether a field differs for nearly all contacts is not known before the end of the contact list. A field with a
    // long streak probably differs for nearly all contacts again. The changes of such a field are therefore withheld
    // from the first contact on.
    this.withheld = new Set(
      names((streak) => !streak.muted && streak.length >= thresholdsOf(streak).emittedReads),
    );
    if (before.settled.length > 0) this.formerlyMuted = new Set([...this.muted, ...before.settled]);
    for (const [name, { samples }] of before.fields) {
      this.sampled.set(name, new Map(samples.map(({ elementHash }) => [elementHash, NaN])));
    }
  }

  /** Returns the fingerprint that is stored for a contact: a hash of all fields that are not muted. */
  fingerprintOf(contact: UpstreamContact): string {
    return contactFingerprintOf(contact, this.muted);
  }

  /**
   * Finds out whether a contact still matches its stored fingerprint. Call this method once for each known
   * contact of the contact list.
   * @param stored the contact's stored fingerprint, which an older build of Tidings may have written
   */
  quickVerdict(contact: UpstreamContact, stored: string): QuickVerdict {
    const isSame =
      stored === this.fingerprintOf(contact) ||
      (this.muted.size === 0 && stored === contactFingerprintIncludingUrlSignatures(contact));
    const isSettled =
      !isSame &&
      this.formerlyMuted !== undefined &&
      stored === contactFingerprintOf(contact, this.formerlyMuted);
    if (!isSame && !isSettled) return 'differs';
    this.count(contact, []);
    return isSame ? 'same' : 'quiet';
  }

  /**
   * Returns what to do with a contact for which {@link quickVerdict} returned `differs`.
   * @param changed names of the changed fields, without fields in which only the signature of a URL differs
   */
  verdict(contact: UpstreamContact, changed: readonly string[]): ContactVerdict {
    this.count(contact, changed);
    const unmuted = changed.filter((field) => !this.muted.has(field));
    if (unmuted.length === 0) return 'quiet';
    return unmuted.every((field) => this.withheld.has(field)) ? 'withheld' : 'changed';
  }

  /**
   * Returns the changes that an event of a contact lists: all changes except those of muted fields.
   * @param changes all changes of the contact, by field name
   */
  withoutMuted<T>(changes: Record<string, T>): Record<string, T> {
    return Object.fromEntries(Object.entries(changes).filter(([field]) => !this.muted.has(field)));
  }

  /**
   * Returns which contact fields are volatile after this read of the contact list. `newlyMuted` and
   * `newlyUnmuted` name the fields to log. Call this method once, after the last contact of the list.
   */
  conclude(): {
    volatility: VolatileContactFields;
    /** False if there is nothing to store: `volatility` was empty before this read and still is. */
    isToBeStored: boolean;
    newlyMuted: string[];
    newlyUnmuted: string[];
  } {
    const fields = new Map<string, Streak>();
    const names = new Set([...this.before.fields.keys(), ...this.counts.keys()]);
    for (const name of names) {
      const streak = this.before.fields.get(name);
      if (streak === undefined && (fields.size >= MAX_FIELDS || name.length > MAX_NAME)) continue;
      const counts = this.counts.get(name) ?? { carrying: 0, differing: 0, carriers: [] };
      const values = this.sampled.get(name);
      const thresholds = streak === undefined ? thresholdsFor(counts.carriers) : thresholdsOf(streak);
      const next = updateFieldChangeStreak(
        streak,
        {
          carrying: counts.carrying,
          differing: counts.differing,
          carriers: () => counts.carriers,
          valueOf: (elementHash) => {
            const value = values?.get(elementHash);
            return value === undefined || Number.isNaN(value) ? undefined : value;
          },
        },
        thresholds,
      ).streak;
      if (next !== undefined) fields.set(name, next);
    }
    const isMuted = (name: string): boolean => fields.get(name)?.muted === true;
    const newlyUnmuted = [...this.muted].filter((name) => !isMuted(name));
    const newlyMuted = [...fields.keys()].filter((name) => isMuted(name) && !this.muted.has(name));
    const isToBeStored =
      fields.size + newlyUnmuted.length + this.before.fields.size + this.before.settled.length > 0;
    return { volatility: { fields, settled: newlyUnmuted }, isToBeStored, newlyMuted, newlyUnmuted };
  }

  private count({ id, raw }: UpstreamContact, changed: readonly string[]): void {
    let elementHash: number | undefined;
    for (const name in raw) {
      const value = raw[name];
      const counts = this.countsOf(name);
      if (value === null || counts === undefined) continue;
      counts.carrying += 1;
      const values = this.sampled.get(name);
      if (counts.carriers.length >= MANY_CONTACTS.samples && values === undefined) continue;
      elementHash ??= hashOfJsonValue(id);
      if (values?.has(elementHash) === true) values.set(elementHash, hashOfJsonValue(value));
      if (counts.carriers.length < MANY_CONTACTS.samples)
        counts.carriers.push({ elementHash, value: hashOfJsonValue(value) });
    }
    for (const name of changed) {
      const counts = this.countsOf(name);
      if (counts !== undefined) counts.differing += 1;
    }
  }

  /**
   * Returns in how many contacts of this read a field exists, and in how many it differs. Undefined if
   * {@link MAX_COUNTED_FIELDS} other fields are already counted.
   */
  private countsOf(name: string): Counts | undefined {
    const known = this.counts.get(name);
    if (known !== undefined || this.counts.size >= MAX_COUNTED_FIELDS) return known;
    const counts = { carrying: 0, differing: 0, carriers: [] };
    this.counts.set(name, counts);
    return counts;
  }
}

/**
 * Maximum number of contact fields for which {@link Counts} are kept during a read of the contact list. It
 * limits the use of memory if every contact has different fields.
 */
const MAX_COUNTED_FIELDS = 200;

function thresholdsFor(carriers: readonly Sample[]): MutingThresholds {
  return carriers.length < MANY_CONTACTS.samples ? FEW_CONTACTS : MANY_CONTACTS;
}

/**
 * Returns the thresholds for muting a contact field. They depend on how many contacts were sampled for the field.
 */
function thresholdsOf({ samples }: Streak): MutingThresholds {
  return thresholdsFor(samples);
}

const FORMAT = 1;

/** Returns the volatile contact fields as JSON, with each {@link Streak} as an array of integers. */
export function serializeVolatileContactFields({ fields, settled }: VolatileContactFields): string {
  const streaks = [...fields].map(
    ([name, { length, unchangedReads, muted, isCommon, missedReads, samples }]) => [
      name,
      [
        length,
        unchangedReads,
        muted ? 1 : 0,
        isCommon ? 1 : 0,
        missedReads,
        ...samples.flatMap(({ elementHash, value }) => [elementHash, value]),
      ],
    ],
  );
  return JSON.stringify({ v: FORMAT, fields: Object.fromEntries(streaks) as unknown, settled });
}

/**
 * Parses the JSON that {@link serializeVolatileContactFields} returned.
 * Returns {@link NO_VOLATILE_CONTACT_FIELDS} if the JSON is invalid or has another format version.
 */
export function parseVolatileContactFields(text: string | null | undefined): VolatileContactFields {
  const parsed = parsedJson(text ?? '');
  if (!isRecord(parsed) || parsed.v !== FORMAT || !isRecord(parsed.fields)) return NO_VOLATILE_CONTACT_FIELDS;
  const fields = new Map<string, Streak>();
  for (const [name, packed] of Object.entries(parsed.fields)) {
    const streak = streakOf(packed);
    if (streak === undefined) return NO_VOLATILE_CONTACT_FIELDS;
    fields.set(name, streak);
  }
  const settled = Array.isArray(parsed.settled)
    ? parsed.settled.filter((name) => typeof name === 'string')
    : [];
  return { fields, settled };
}

function streakOf(packed: unknown): Streak | undefined {
  if (!Array.isArray(packed) || !packed.every((number) => Number.isSafeInteger(number))) return undefined;
  const [length = 0, unchangedReads = 0, muted, isCommon, missedReads = 0, ...rest] = packed as number[];
  if (length < 1 || rest.length % 2 !== 0 || rest.length > 2 * MANY_CONTACTS.samples) return undefined;
  const samples: Sample[] = [];
  for (let i = 0; i < rest.length; i += 2)
    samples.push({ elementHash: rest[i] ?? 0, value: rest[i + 1] ?? 0 });
  return { length, unchangedReads, muted: muted === 1, isCommon: isCommon === 1, missedReads, samples };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
