import { isRecord, type UpstreamContact } from '#upstream';
import { contactFingerprint, plainContactFingerprint, valueMark } from './contact-fingerprint.js';
import { advance, type Patience, type Sample, type Streak } from './streak.js';

/**
 * What was learned of the top-level fields of an account's contacts: which of them differ at nearly every reading of the
 * list, for nearly all contacts that have them. A field that changes for a few contacts at a time, such as the date of a
 * last message, is the hint by which a contact is polled at once, and never muted.
 */
export interface ContactVolatility {
  /** By name; at most {@link MAX_FIELDS}. */
  fields: ReadonlyMap<string, Streak>;
  /** Were muted up to the last list: what they are now is taken as it is. */
  settled: readonly string[];
}

export const NO_CONTACT_VOLATILITY: ContactVolatility = { fields: new Map(), settled: [] };

/** Of so many names something is remembered at most. */
const MAX_FIELDS = 20;
/** Longer names are not learned. In characters. */
const MAX_NAME = 64;

/** Where nearly all of many contacts differ at once, no person did it. */
const MANY: Patience = { told: 2, samples: 10 };
/** A few contacts may well be in conversation at so many lists in a row. */
const FEW: Patience = { told: 9, samples: 10 };

/** What is to be done about a contact that is known and listed. */
export type ContactVerdict =
  /** It is as it was. */
  | 'same'
  /** Nothing is told; its fingerprint is stored. */
  | 'quiet'
  /** Nothing is told or stored: it is told later, if it stands still. */
  | 'withheld'
  | 'changed';

/** What the fingerprint alone says: `differs` where it is to be looked at which fields changed. */
export type QuickVerdict = 'same' | 'quiet' | 'differs' | 'changed';

interface Counts {
  carrying: number;
  differing: number;
  carriers: Sample[];
}

/** One reading of an account's contact list: what it does with volatile fields, and what it teaches of them. */
export class ContactListLesson {
  private readonly muted: ReadonlySet<string>;
  private readonly formerlyMuted: ReadonlySet<string> | undefined;
  private readonly withheld: ReadonlySet<string>;
  private readonly counts = new Map<string, Counts>();
  /** The values that sampled contacts have now, by field and by their mark. */
  private readonly sampled = new Map<string, Map<number, number>>();

  constructor(private readonly before: ContactVolatility) {
    const names = (of: (streak: Streak) => boolean): string[] =>
      [...before.fields].filter(([, streak]) => of(streak)).map(([name]) => name);
    this.muted = new Set(names(({ muted }) => muted));
    // Whether it differs for nearly all is known only after the list: what would be too much is withheld beforehand.
    this.withheld = new Set(names((streak) => !streak.muted && streak.length >= patienceOf(streak).told));
    if (before.settled.length > 0) this.formerlyMuted = new Set([...this.muted, ...before.settled]);
    for (const [name, { samples }] of before.fields) {
      this.sampled.set(name, new Map(samples.map(({ mark }) => [mark, NaN])));
    }
  }

  /** What is to be stored of a contact. */
  fingerprintOf(contact: UpstreamContact): string {
    return contactFingerprint(contact, this.muted);
  }

  /**
   * Whether a contact that is known has changed, as far as its fingerprint alone says it. To be called for each listed
   * contact that is known, once.
   * @param stored its fingerprint, whichever build wrote it
   */
  quickVerdict(contact: UpstreamContact, stored: string): QuickVerdict {
    const isSame =
      stored === this.fingerprintOf(contact) ||
      (this.muted.size === 0 && stored === plainContactFingerprint(contact));
    const isSettled =
      !isSame &&
      this.formerlyMuted !== undefined &&
      stored === contactFingerprint(contact, this.formerlyMuted);
    if (!isSame && !isSettled) return 'differs';
    this.saw(contact, []);
    return isSame ? 'same' : 'quiet';
  }

  /**
   * What to do about a contact whose fingerprint differs.
   * @param changed the fields that differ from its last form, signatures aside
   */
  verdict(contact: UpstreamContact, changed: readonly string[]): ContactVerdict {
    this.saw(contact, changed);
    const heard = changed.filter((field) => !this.muted.has(field));
    if (heard.length === 0) return 'quiet';
    return heard.every((field) => this.withheld.has(field)) ? 'withheld' : 'changed';
  }

  /** The changes that are named in an event: not those of muted fields. */
  named<T>(changes: Record<string, T>): Record<string, T> {
    return Object.fromEntries(Object.entries(changes).filter(([field]) => !this.muted.has(field)));
  }

  /** What is to be remembered after all contacts were seen, and what is to be logged, once. */
  conclude(): {
    volatility: ContactVolatility;
    /** Whether there is anything to be stored. */
    isNews: boolean;
    newlyMuted: string[];
    newlyHeard: string[];
  } {
    const fields = new Map<string, Streak>();
    const names = new Set([...this.before.fields.keys(), ...this.counts.keys()]);
    for (const name of names) {
      const streak = this.before.fields.get(name);
      if (streak === undefined && (fields.size >= MAX_FIELDS || name.length > MAX_NAME)) continue;
      const counts = this.counts.get(name) ?? { carrying: 0, differing: 0, carriers: [] };
      const values = this.sampled.get(name);
      const patience = streak === undefined ? patienceFor(counts.carriers) : patienceOf(streak);
      const next = advance(
        streak,
        {
          carrying: counts.carrying,
          differing: counts.differing,
          carriers: () => counts.carriers,
          valueOf: (mark) => {
            const value = values?.get(mark);
            return value === undefined || Number.isNaN(value) ? undefined : value;
          },
        },
        patience,
      ).streak;
      if (next !== undefined) fields.set(name, next);
    }
    const isMuted = (name: string): boolean => fields.get(name)?.muted === true;
    const newlyHeard = [...this.muted].filter((name) => !isMuted(name));
    const newlyMuted = [...fields.keys()].filter((name) => isMuted(name) && !this.muted.has(name));
    const isNews = fields.size + newlyHeard.length + this.before.fields.size + this.before.settled.length > 0;
    return { volatility: { fields, settled: newlyHeard }, isNews, newlyMuted, newlyHeard };
  }

  private saw({ id, raw }: UpstreamContact, changed: readonly string[]): void {
    let mark: number | undefined;
    for (const name in raw) {
      const value = raw[name];
      const counts = this.countsOf(name);
      if (value === null || counts === undefined) continue;
      counts.carrying += 1;
      const values = this.sampled.get(name);
      if (counts.carriers.length >= MANY.samples && values === undefined) continue;
      mark ??= valueMark(id);
      if (values?.has(mark) === true) values.set(mark, valueMark(value));
      if (counts.carriers.length < MANY.samples) counts.carriers.push({ mark, value: valueMark(value) });
    }
    for (const name of changed) {
      const counts = this.countsOf(name);
      if (counts !== undefined) counts.differing += 1;
    }
  }

  /** Undefined for a name beyond those that are watched. */
  private countsOf(name: string): Counts | undefined {
    const known = this.counts.get(name);
    if (known !== undefined || this.counts.size >= MAX_WATCHED) return known;
    const counts = { carrying: 0, differing: 0, carriers: [] };
    this.counts.set(name, counts);
    return counts;
  }
}

/** So many names are counted in one list at most: contacts with a field of their own each are nobody's avatars. */
const MAX_WATCHED = 200;

function patienceFor(carriers: readonly Sample[]): Patience {
  return carriers.length < MANY.samples ? FEW : MANY;
}

/** By how many it was found of first: it stays as it began. */
function patienceOf({ samples }: Streak): Patience {
  return patienceFor(samples);
}

const FORMAT = 1;

/** As JSON: `{"v":1,"fields":{name: [length, still, muted, many, missed, mark, value, …]},"settled":[name…]}`. */
export function writeContactVolatility({ fields, settled }: ContactVolatility): string {
  const streaks = [...fields].map(([name, { length, still, muted, many, missed, samples }]) => [
    name,
    [
      length,
      still,
      muted ? 1 : 0,
      many ? 1 : 0,
      missed,
      ...samples.flatMap(({ mark, value }) => [mark, value]),
    ],
  ]);
  return JSON.stringify({ v: FORMAT, fields: Object.fromEntries(streaks) as unknown, settled });
}

/** What cannot be read, or is of a later version, is as if nothing had been learned. */
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
  const [length = 0, still = 0, muted, many, missed = 0, ...rest] = packed as number[];
  if (length < 1 || rest.length % 2 !== 0 || rest.length > 2 * MANY.samples) return undefined;
  const samples: Sample[] = [];
  for (let i = 0; i < rest.length; i += 2) samples.push({ mark: rest[i] ?? 0, value: rest[i + 1] ?? 0 });
  return { length, still, muted: muted === 1, many: many === 1, missed, samples };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
