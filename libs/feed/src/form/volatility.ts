import type { UpstreamMessage } from '#upstream';
import {
  type FieldSet,
  type Fingerprint,
  FINGERPRINT_FIELDS,
  type FingerprintField,
  isFilled,
  fieldNamesOf,
} from './fingerprint.js';
import { JsonHash } from './json-hash.js';
import { DamagedSnapshotError, PackedReader, PackedWriter } from '../packed-bytes.js';
import {
  streakAfterRead,
  type FieldView,
  isFieldQuiet,
  type MutingThresholds,
  type Sample,
  type Streak,
} from './streak.js';

/**
 * Streaks of the volatile fields of one contact's messages, by index in {@link FINGERPRINT_FIELDS}. Empty for almost every
 * contact.
 *
 * Known limits:
 * - If fewer than four messages have undocumented fields, every change of these fields is emitted.
 * - All undocumented fields count as one field: a view counter mutes the other undocumented fields as well.
 * - A field that differs for few messages, or only at some reads, is never muted. Example: a URL whose signature changes every
 *   minute outside its query.
 */
export type Volatility = ReadonlyMap<number, Streak>;

export const NO_VOLATILE_FIELDS: Volatility = new Map();

/** All fields but the text. A person may edit a text at several consecutive reads, and each edit is emitted. */
const VOLATILE_FIELDS: FieldSet = FINGERPRINT_FIELDS.reduce(
  (set, field, i) => (field === 'message' ? set : set | (1 << i)),
  0,
);

/**
 * Thresholds for message fields. If fewer than four messages have the field, a person may have edited one repeatedly: a
 * muted change is then emitted once the field stands still. With more messages that would emit an event for each of them.
 */
const THRESHOLDS: MutingThresholds = { emittedReads: 2, samples: 4 };

/** A known message with the content and fingerprint of the current read. */
export interface ReadMessage {
  message: Pick<UpstreamMessage, 'id' | 'raw'>;
  fingerprint: Fingerprint;
  /** Fields that differ from the snapshot. */
  differing: FieldSet;
}

/** Volatile fields of a contact's messages, by how a read treats their changes. */
export interface QuietFields {
  /** Fields whose changes alone emit no event: withheld or muted. */
  quiet: FieldSet;
  /** Muted fields; the `changes` of an event do not name them either. */
  muted: FieldSet;
  /** Muted fields that are left out of the stored fingerprints, so that unmuting emits no event for each message. */
  ignored: FieldSet;
}

export const NO_QUIET_FIELDS: QuietFields = { quiet: 0, muted: 0, ignored: 0 };

/** Treatment of volatile fields at a read, and their state after the read. */
export interface VolatilityUpdate extends QuietFields {
  volatility: Volatility;
  /** Fields that became muted or unmuted at this read; each is logged once. */
  newlyMuted: readonly FingerprintField[];
  newlyUnmuted: readonly FingerprintField[];
}

/** Update of a contact without volatile fields. */
export const NO_VOLATILITY_UPDATE: VolatilityUpdate = {
  ...NO_QUIET_FIELDS,
  volatility: NO_VOLATILE_FIELDS,
  newlyMuted: [],
  newlyUnmuted: [],
};

/**
 * Updates the state of a contact's volatile fields after a read.
 * @param messages known messages of the read, newest last
 */
export function updateVolatility(before: Volatility, messages: readonly ReadMessage[]): VolatilityUpdate {
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
    const { streak, shown } = streakAfterRead(before.get(field), view, THRESHOLDS);
    if (streak === undefined) continue;
    volatility.set(field, streak);
    // Without a sampled message in the read, a withheld change is emitted: the next read may be far off.
    if (isFieldQuiet(streak, THRESHOLDS) && (streak.muted || shown)) quiet |= bit;
    if (streak.muted) muted |= bit;
    if (streak.isCommon) ignored |= bit;
  }
  const wasMuted = mutedFields(before);
  return {
    volatility,
    quiet,
    muted,
    ignored,
    newlyMuted: fieldNamesOf(muted & ~wasMuted),
    newlyUnmuted: fieldNamesOf(wasMuted & ~muted),
  };
}

/**
 * Returns true if fewer messages have an undocumented field than are sampled. Each of these may really change at many
 * consecutive reads, for example by a counter of edits. URLs of attachments do not change in that way.
 */
function isTooFew(field: number, streak: Streak | undefined, { carrying }: FieldView): boolean {
  const carriers = streak?.samples.length ?? carrying;
  return carriers < THRESHOLDS.samples && FINGERPRINT_FIELDS[field] === 'other';
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
): Parameters<typeof streakAfterRead>[1] {
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
    valueOf: (elementHash) => marks?.get(elementHash)?.fingerprint.fields[field],
  };
}

function newestCarriers(field: number, messages: readonly ReadMessage[]): Sample[] {
  const samples: Sample[] = [];
  for (let i = messages.length - 1; i >= 0 && samples.length < THRESHOLDS.samples; i -= 1) {
    const read = messages[i];
    if (read === undefined || !isFilled(read.message, field)) continue;
    samples.push({ elementHash: markOf(read.message.id), value: read.fingerprint.fields[field] ?? 0 });
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

/** Version of the packed form. Any other version counts as damaged. */
const FORMAT = 1;
const MUTED = 16;
const COMMON = 32;
/** Position of the two bits that hold the number of missed reads. */
const MISSED_SHIFT = 6;

/**
 * Returns the packed form: format (1 byte), then for each field its index and flags (1), its length and still count (1), the
 * number of samples (1), and 4 bytes per sample. Empty without volatile fields.
 */
export function packVolatility(volatility: Volatility): Buffer {
  const packed = new PackedWriter();
  if (volatility.size === 0) return packed.done();
  packed.byte(FORMAT);
  for (const [field, { length, unchangedReads, muted, isCommon, missedReads, samples }] of volatility) {
    packed
      .byte(field | (muted ? MUTED : 0) | (isCommon ? COMMON : 0) | (missedReads << MISSED_SHIFT))
      .byte((length << 4) | unchangedReads)
      .byte(samples.length);
    for (const { elementHash, value } of samples) packed.bits16(elementHash).bits16(value);
  }
  return packed.done();
}

/** Unpacks the state. Damaged bytes count as an empty state: volatile fields then emit two more events per message. */
export function unpackVolatility(bytes: Buffer | undefined): Volatility {
  if (bytes === undefined || bytes.length === 0) return NO_VOLATILE_FIELDS;
  try {
    return unpack(bytes);
  } catch (error) {
    if (error instanceof DamagedSnapshotError) return NO_VOLATILE_FIELDS;
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
      unchangedReads: counts & 15,
      muted: (head & MUTED) !== 0,
      isCommon: (head & COMMON) !== 0,
      missedReads: head >> MISSED_SHIFT,
    };
    if (field >= FINGERPRINT_FIELDS.length || count > THRESHOLDS.samples) {
      throw new DamagedSnapshotError();
    }
    if (streak.length === 0 || streak.length > THRESHOLDS.emittedReads + 2) throw new DamagedSnapshotError();
    const samples = Array.from({ length: count }, () => ({
      elementHash: packed.bits16(),
      value: packed.bits16(),
    }));
    volatility.set(field, { ...streak, samples });
    left -= 3 + 4 * count;
  }
  return volatility;
}
