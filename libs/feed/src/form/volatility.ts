import type { UpstreamMessage } from '#upstream';
import {
  type FieldSet,
  type Fingerprint,
  FINGERPRINT_FIELDS,
  type FingerprintField,
  isFilled,
  namesOf,
} from './fingerprint.js';
import { JsonHash } from './json-hash.js';
import { DamagedSnapshotError, PackedReader, PackedWriter } from '../packed-bytes.js';
import { advance, type FieldView, isQuiet, type Patience, type Sample, type Streak } from './streak.js';

/**
 * What was learned of the fields of one contact's messages: which of them differ at nearly every read; by their place in
 * {@link FINGERPRINT_FIELDS}. Empty for almost every contact.
 *
 * Known limits. Where fewer than four messages carry undocumented fields, these are told each time. A field is what a
 * fingerprint tells apart: all that nobody documented is one field, so that a counter of
 * views mutes whatever else is not documented, too. A field that differs for few messages only, or only at one read in
 * several (an address signed anew every minute outside of its query), is told each time.
 */
export type Volatility = ReadonlyMap<number, Streak>;

export const NOTHING_VOLATILE: Volatility = new Map();

/** Every field but the text: a person may edit that at one read after the other, and each edit is told. */
const VOLATILE_FIELDS: FieldSet = FINGERPRINT_FIELDS.reduce(
  (set, field, i) => (field === 'message' ? set : set | (1 << i)),
  0,
);

/**
 * So many differing reads are told, and a sample is of so many messages. Where fewer carry the field, one of them may
 * be edited again and again by a person: what was muted is then told once it stands still. Where more do, it is not:
 * there would be an event for each of them.
 */
const PATIENCE: Patience = { told: 2, samples: 4 };

/** A message that was known, as a read shows it. */
export interface ReadMessage {
  message: Pick<UpstreamMessage, 'id' | 'raw'>;
  fingerprint: Fingerprint;
  /** In which it differs from what is known. */
  differing: FieldSet;
}

/** What a read does with the fields that it finds volatile. */
export interface QuietFields {
  /** Differences in these alone are not told. */
  quiet: FieldSet;
  /** Of these, those that are muted: they are not named among the changes of a message either. */
  muted: FieldSet;
  /** Of these, those that are not kept of any message, so that nothing is told of it when they are heard again. */
  ignored: FieldSet;
}

export const ALL_HEARD: QuietFields = { quiet: 0, muted: 0, ignored: 0 };

/** What a read taught. */
export interface Lesson extends QuietFields {
  volatility: Volatility;
  /** Fields that are muted from now on, and that are heard again from now on; each is to be logged once. */
  newlyMuted: readonly FingerprintField[];
  newlyHeard: readonly FingerprintField[];
}

/** Where nothing differs and nothing was learned before. */
export const NO_LESSON: Lesson = {
  ...ALL_HEARD,
  volatility: NOTHING_VOLATILE,
  newlyMuted: [],
  newlyHeard: [],
};

/** @param messages those that were known before, the newest last */
export function learn(before: Volatility, messages: readonly ReadMessage[]): Lesson {
  let [all, quiet, muted, ignored] = [0, 0, 0, 0];
  for (const { differing } of messages) all |= differing;
  for (const field of before.keys()) all |= 1 << field;
  all &= VOLATILE_FIELDS;
  const volatility = new Map<number, Streak>();
  const marks = before.size === 0 ? undefined : markedMessages(messages);
  for (let field = 0; all >> field > 0; field += 1) {
    const bit = 1 << field;
    if ((all & bit) === 0) continue;
    const view = viewOf(field, messages, marks);
    if (isTooFew(field, before.get(field), view)) continue;
    const { streak, shown } = advance(before.get(field), view, PATIENCE);
    if (streak === undefined) continue;
    volatility.set(field, streak);
    // What is withheld is told all the same of messages of which nothing was learned: it may be long till the next read.
    if (isQuiet(streak, PATIENCE) && (streak.muted || shown)) quiet |= bit;
    if (streak.muted) muted |= bit;
    if (streak.many) ignored |= bit;
  }
  const wasMuted = mutedFields(before);
  return {
    volatility,
    quiet,
    muted,
    ignored,
    newlyMuted: namesOf(muted & ~wasMuted),
    newlyHeard: namesOf(wasMuted & ~muted),
  };
}

/**
 * Where fewer messages than are sampled carry a field that nobody documented, each may well change at many reads in a row, as
 * a counter of its edits does. Addresses of attachments do not.
 */
function isTooFew(field: number, streak: Streak | undefined, { carrying }: FieldView): boolean {
  const carriers = streak?.samples.length ?? carrying;
  return carriers < PATIENCE.samples && FINGERPRINT_FIELDS[field] === 'other';
}

export function mutedFields(volatility: Volatility): FieldSet {
  let muted = 0;
  for (const [field, streak] of volatility) if (streak.muted) muted |= 1 << field;
  return muted;
}

function viewOf(
  field: number,
  messages: readonly ReadMessage[],
  marks: ReadonlyMap<number, ReadMessage> | undefined,
): Parameters<typeof advance>[1] {
  const bit = 1 << field;
  let [carrying, differing] = [0, 0];
  for (const message of messages) {
    if ((message.differing & bit) !== 0) differing += 1;
    else if (isFilled(message.message, field)) carrying += 1;
  }
  return {
    carrying: carrying + differing,
    differing,
    carriers: () => newestCarriers(field, messages),
    valueOf: (mark) => marks?.get(mark)?.fingerprint.fields[field],
  };
}

function newestCarriers(field: number, messages: readonly ReadMessage[]): Sample[] {
  const samples: Sample[] = [];
  for (let i = messages.length - 1; i >= 0 && samples.length < PATIENCE.samples; i -= 1) {
    const read = messages[i];
    if (read === undefined || !isFilled(read.message, field)) continue;
    samples.push({ mark: markOf(read.message.id), value: read.fingerprint.fields[field] ?? 0 });
  }
  return samples;
}

function markedMessages(messages: readonly ReadMessage[]): ReadonlyMap<number, ReadMessage> {
  return new Map(messages.map((read) => [markOf(read.message.id), read]));
}

const hash = new JsonHash();

function markOf(id: string): number {
  hash.restart();
  hash.addText(id);
  hash.finish();
  return hash.low & 0xff_ff;
}

/** Another one is written by another version, and cannot be read by this one. */
const FORMAT = 1;
const MUTED = 16;
const MANY = 32;
/** Two bits. */
const MISSED_SHIFT = 6;

/**
 * The packed form: format (1 byte), then for each field its place and its flags (1), length and stillness (1),
 * the number of samples (1), and 4 bytes a sample. Nothing at all where nothing was learned.
 */
export function packVolatility(volatility: Volatility): Buffer {
  const packed = new PackedWriter();
  if (volatility.size === 0) return packed.done();
  packed.byte(FORMAT);
  for (const [field, { length, still, muted, many, missed, samples }] of volatility) {
    packed
      .byte(field | (muted ? MUTED : 0) | (many ? MANY : 0) | (missed << MISSED_SHIFT))
      .byte((length << 4) | still)
      .byte(samples.length);
    for (const { mark, value } of samples) packed.bits16(mark).bits16(value);
  }
  return packed.done();
}

/** What cannot be read is as if nothing had been learned: it is learned again, at the price of two events a message. */
export function unpackVolatility(bytes: Buffer | undefined): Volatility {
  if (bytes === undefined || bytes.length === 0) return NOTHING_VOLATILE;
  try {
    return unpack(bytes);
  } catch (error) {
    if (error instanceof DamagedSnapshotError) return NOTHING_VOLATILE;
    throw error;
  }
}

function unpack(bytes: Buffer): Volatility {
  const packed = new PackedReader(bytes);
  const volatility = new Map<number, Streak>();
  if (packed.byte() !== FORMAT) throw new DamagedSnapshotError();
  for (let left = bytes.length - 1; left > 0;) {
    const [head, counts, count] = [packed.byte(), packed.byte(), packed.byte()];
    const field = head & (MUTED - 1);
    const streak = {
      length: counts >> 4,
      still: counts & 15,
      muted: (head & MUTED) !== 0,
      many: (head & MANY) !== 0,
      missed: head >> MISSED_SHIFT,
    };
    if (field >= FINGERPRINT_FIELDS.length || count > PATIENCE.samples) {
      throw new DamagedSnapshotError();
    }
    if (streak.length === 0 || streak.length > PATIENCE.told + 2) throw new DamagedSnapshotError();
    const samples = Array.from({ length: count }, () => ({ mark: packed.bits16(), value: packed.bits16() }));
    volatility.set(field, { ...streak, samples });
    left -= 3 + 4 * count;
  }
  return volatility;
}
