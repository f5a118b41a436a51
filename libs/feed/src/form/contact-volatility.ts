import { isRecord, type UpstreamContact } from '#upstream';
import { contactFingerprint, contactFingerprintWithSignatures, hashOfValue } from './contact-fingerprint.js';
import { streakAfterRead, type MutingThresholds, type Sample, type Streak } from './streak.js';

/**
 * State of the volatile fields of an account's contacts: top-level fields that differ at nearly every read of
 * the list, for nearly all contacts that have the field. A field that changes for a few contacts at a time,
 * such as the date of the last message, is never muted: its change makes the contact due at once.
 */
export interface ContactVolatility {
  /** The volatile fields by name, each with its count of differing reads; at most {@link MAX_FIELDS}. */
  fields: ReadonlyMap<string, Streak>;
  /** Fields that were muted until the last list. Their next values are stored without an event. */
  settled: readonly string[];
}

export const NO_CONTACT_VOLATILITY: ContactVolatility = { fields: new Map(), settled: [] };

/** Maximum number of fields whose consecutive changes are counted. */
const MAX_FIELDS = 20;
/** Maximum length of the name of a field whose consecutive changes are counted, in characters. */
const MAX_NAME = 64;

/**
 * Patience for a field of at least ten contacts: if nearly all of them differ at once, no person caused the
 * change.
 */
const MANY_CONTACTS: MutingThresholds = { emittedReads: 2, samples: 10 };
/** Patience for a field of fewer contacts: these may really change at several consecutive reads of the list. */
const FEW_CONTACTS: MutingThresholds = { emittedReads: 9, samples: 10 };

/** What the poll does with a known contact on the list. */
export type ContactVerdict =
  /** The contact is unchanged: nothing is stored or emitted. */
  | 'same'
  /** The fingerprint is stored; no event is emitted. */
  | 'quiet'
  /** Neither stored nor emitted: if the field stops changing, the change is emitted later. */
  | 'withheld'
  | 'changed';

/**
 * How a contact differs, as far as its fingerprint shows. `differs`: the caller must find the changed fields
 * and call `verdict`.
 */
export type QuickVerdict = 'same' | 'quiet' | 'differs' | 'changed';

interface Counts {
  carrying: number;
  differing: number;
  carriers: Sample[];
}

/**
 * During one read of the contact list, decides which changes of volatile fields are emitted, and counts for
 * each field how many reads in a row it differed.
 */
export class ContactVolatilityTracker {
  private readonly muted: ReadonlySet<string>;
  private readonly formerlyMuted: ReadonlySet<string> | undefined;
  private readonly withheld: ReadonlySet<string>;
  private readonly counts = new Map<string, Counts>();
  /** Present values of the sampled contacts, by field name and by the hash of the contact id. */
  private readonly sampled = new Map<string, Map<number, number>>();

  constructor(private readonly before: ContactVolatility) {
    const names = (of: (streak: Streak) => boolean): string[] =>
      [...before.fields].filter(([, streak]) => of(streak)).map(([name]) => name);
    this.muted = new Set(names(({ muted }) => muted));
    // Whether a field differs for nearly all contacts is known only at the end of the list. Until then it is
    // withheld.
    this.withheld = new Set(
      names((streak) => !streak.muted && streak.length >= thresholdsOf(streak).emittedReads),
    );
    if (before.settled.length > 0) this.formerlyMuted = new Set([...this.muted, ...before.settled]);
    for (const [name, { samples }] of before.fields) {
      this.sampled.set(name, new Map(samples.map(({ elementHash }) => [elementHash, NaN])));
    }
  }

  /** Returns the fingerprint to store of a contact. */
  fingerprintOf(contact: UpstreamContact): string {
    return contactFingerprint(contact, this.muted);
  }

  /**
   * Returns whether a known contact has changed, judging by the fingerprint alone. Call once for each known
   * contact on the list.
   * @param stored stored fingerprint of the contact, possibly written by an older build
   */
  quickVerdict(contact: UpstreamContact, stored: string): QuickVerdict {
    const isSame =
      stored === this.fingerprintOf(contact) ||
      (this.muted.size === 0 && stored === contactFingerprintWithSignatures(contact));
    const isSettled =
      !isSame &&
      this.formerlyMuted !== undefined &&
      stored === contactFingerprint(contact, this.formerlyMuted);
    if (!isSame && !isSettled) return 'differs';
    this.count(contact, []);
    return isSame ? 'same' : 'quiet';
  }

  /**
   * Returns what to do with a contact whose fingerprint differs.
   * @param changed names of the changed fields; a change in the signature of a URL does not count
   */
  verdict(contact: UpstreamContact, changed: readonly string[]): ContactVerdict {
    this.count(contact, changed);
    const unmuted = changed.filter((field) => !this.muted.has(field));
    if (unmuted.length === 0) return 'quiet';
    return unmuted.every((field) => this.withheld.has(field)) ? 'withheld' : 'changed';
  }

  /** Returns the changes that an event names: all except changes of muted fields. */
  withoutMuted<T>(changes: Record<string, T>): Record<string, T> {
    return Object.fromEntries(Object.entries(changes).filter(([field]) => !this.muted.has(field)));
  }

  /**
   * Returns the new state of the volatile fields, and the changes to log. Call once, after the last contact.
   */
  conclude(): {
    volatility: ContactVolatility;
    /** True if the state must be stored: it changed, or it counts consecutive changes of a field. */
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
      const next = streakAfterRead(
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
      elementHash ??= hashOfValue(id);
      if (values?.has(elementHash) === true) values.set(elementHash, hashOfValue(value));
      if (counts.carriers.length < MANY_CONTACTS.samples)
        counts.carriers.push({ elementHash, value: hashOfValue(value) });
    }
    for (const name of changed) {
      const counts = this.countsOf(name);
      if (counts !== undefined) counts.differing += 1;
    }
  }

  /** Returns the counts of a field; undefined once {@link MAX_COUNTED_FIELDS} other fields are counted. */
  private countsOf(name: string): Counts | undefined {
    const known = this.counts.get(name);
    if (known !== undefined || this.counts.size >= MAX_COUNTED_FIELDS) return known;
    const counts = { carrying: 0, differing: 0, carriers: [] };
    this.counts.set(name, counts);
    return counts;
  }
}

/** Maximum number of fields counted in one list. Limits memory if every contact has fields of its own. */
const MAX_COUNTED_FIELDS = 200;

function thresholdsFor(carriers: readonly Sample[]): MutingThresholds {
  return carriers.length < MANY_CONTACTS.samples ? FEW_CONTACTS : MANY_CONTACTS;
}

/**
 * Returns after how many differing reads a field is muted. This depends on how many elements were sampled at
 * the start.
 */
function thresholdsOf({ samples }: Streak): MutingThresholds {
  return thresholdsFor(samples);
}

const FORMAT = 1;

/**
 * Returns the JSON to store: `{"v":1,"fields":{name: [length, still, muted, isCommon, missed, mark, value,
 * …]},"settled":[name…]}`.
 */
export function writeContactVolatility({ fields, settled }: ContactVolatility): string {
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

/** Parses stored JSON. Invalid JSON and JSON of a later version count as an empty state. */
export function readContactVolatility(text: string | null | undefined): ContactVolatility {
  const parsed = parsedJson(text ?? '');
  if (!isRecord(parsed) || parsed.v !== FORMAT || !isRecord(parsed.fields)) return NO_CONTACT_VOLATILITY;
  const fields = new Map<string, Streak>();
  for (const [name, packed] of Object.entries(parsed.fields)) {
    const streak = streakOf(packed);
    if (streak === undefined) return NO_CONTACT_VOLATILITY;
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
