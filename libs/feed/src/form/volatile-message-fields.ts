import type { UpstreamMessage } from '#upstream';
import {
  type FieldSet,
  type Fingerprint,
  FINGERPRINT_FIELDS,
  type FingerprintField,
  isFieldNonEmpty,
  fieldNamesOf,
} from './fingerprint.js';
import { JsonHasher } from './json-hasher.js';
import { DamagedSnapshotError, PackedBytesReader, PackedBytesWriter } from '../packed-bytes.js';
import {
  updateFieldChangeStreak,
  type FieldObservation,
  isFieldWithheldOrMuted,
  type MutingThresholds,
  type Sample,
  type Streak,
} from './streak.js';

/**
 * Which fields of one contact's messages are or may become volatile. Maps the index of each such field in
 * {@link FINGERPRINT_FIELDS} to a count of the reads at which the field differed. Empty for almost every contact.
 *
 * Known limits:
 * - If fewer than four messages have undocumented fields, only reads at which nothing else of the messages changed
 *   count towards muting these fields.
 * - All undocumented fields count as one field. For example, a counter of views mutes the other undocumented fields
 *   as well.
 * - A field is never muted if it differs for only a few messages, or only at some reads. Example: a URL whose path
 *   contains a signature, if the signature changes every minute.
 */
export type VolatileMessageFields = ReadonlyMap<number, Streak>;

export const NO_VOLATILE_MESSAGE_FIELDS: VolatileMessageFields = new Map();

/**
 * The message fields that can be volatile: all fields except the text. A person may really edit the text of a
 * message again and again, and each edit must emit an event.
 */
const VOLATILE_FIELDS: FieldSet = FINGERPRINT_FIELDS.reduce(
  (set, field, i) => (field === 'message' ? set : set | (1 << i)),
  0,
);

/**
 * Thresholds for message fields. If a field differs at more than two consecutive reads, only the changes at
 * the first two emit events. At most four messages are compared to detect the changes.
 */
const THRESHOLDS: MutingThresholds = { emittedReads: 2, samples: 4 };

/** A message that was known before a read, with the content and fingerprint that the read found. */
export interface ReadMessage {
  message: Pick<UpstreamMessage, 'id' | 'raw'>;
  fingerprint: Fingerprint;
  /** Fields of the message that differ from its snapshot. */
  differing: FieldSet;
  /** True if the flags of the message differ from its snapshot, or if the snapshot marks the message as missing. */
  hasOtherState: boolean;
}

/** Sets of volatile fields of a contact's messages, by how a read treats changes of these fields. */
export interface WithheldOrMutedFields {
  /** Withheld and muted fields. If only such fields of a message changed, no event is emitted. */
  withheldOrMuted: FieldSet;
  /**
   * Muted fields. If a message emits an event because other fields changed, the event's `changes` do not list
   * the muted fields.
   */
  muted: FieldSet;
  /**
   * Muted fields that the stored fingerprints leave out. When such a field is unmuted, it is added to the
   * fingerprints without emitting events.
   */
  ignored: FieldSet;
}

export const NO_WITHHELD_OR_MUTED_FIELDS: WithheldOrMutedFields = {
  withheldOrMuted: 0,
  muted: 0,
  ignored: 0,
};

/**
 * How a read treats changes of volatile fields of a contact's messages, and which fields are volatile after
 * the read.
 */
export interface VolatileMessageFieldsUpdate extends WithheldOrMutedFields {
  volatility: VolatileMessageFields;
  /**
   * `newlyMuted` and `newlyUnmuted` are the fields that became muted or unmuted at this read. Each is logged
   * once.
   */
  newlyMuted: readonly FingerprintField[];
  newlyUnmuted: readonly FingerprintField[];
}

/** The result of {@link updateVolatileMessageFields} for a contact whose messages have no volatile fields. */
export const EMPTY_VOLATILE_MESSAGE_FIELDS_UPDATE: VolatileMessageFieldsUpdate = {
  ...NO_WITHHELD_OR_MUTED_FIELDS,
  volatility: NO_VOLATILE_MESSAGE_FIELDS,
  newlyMuted: [],
  newlyUnmuted: [],
};

/**
 * Determines which fields of a contact's messages are volatile after a read. Also determines whether the
 * changes that the read found in these fields are emitted, withheld or muted.
 * @param before the volatile fields after the previous read
 * @param messages the messages of the read that were known before, newest last
 */
export function updateVolatileMessageFields(
  before: VolatileMessageFields,
  messages: readonly ReadMessage[],
): VolatileMessageFieldsUpdate {
  let [all, withheldOrMuted, muted, ignored] = [0, 0, 0, 0];
  for (const { differing } of messages) all |= differing;
  for (const field of before.keys()) all |= 1 << field;
  all &= VOLATILE_FIELDS;
  const volatility = new Map<number, Streak>();
  const marks = before.size === 0 ? undefined : markedMessages(messages);
  for (let field = 0; all >> field > 0; field += 1) {
    const bit = 1 << field;
    if ((all & bit) === 0) continue;
    const { differingAlone, ...view } = viewOf(field, messages, marks);
    if (mustChangeAlone(field, before.get(field), view)) view.differing = differingAlone;
    const { streak, showsSamples } = updateFieldChangeStreak(before.get(field), view, THRESHOLDS);
    if (streak === undefined) continue;
    volatility.set(field, streak);
    // Changes of a field that is not muted are withheld only if the read contains a sampled message. Otherwise, the
    // changes are emitted, because it may take long until a read shows whether the field keeps changing.
    if (isFieldWithheldOrMuted(streak, THRESHOLDS) && (streak.muted || showsSamples)) withheldOrMuted |= bit;
    if (streak.muted) muted |= bit;
    if (streak.isCommon) ignored |= bit;
  }
  const wasMuted = mutedFieldsOf(before);
  return {
    volatility,
    withheldOrMuted,
    muted,
    ignored,
    newlyMuted: fieldNamesOf(muted & ~wasMuted),
    newlyUnmuted: fieldNamesOf(wasMuted & ~muted),
  };
}

/**
 * Returns true if a field is undocumented and few messages have it. Few messages do not show whether the changes of
 * all messages have one cause. So such a field counts as changed only if nothing else of the message changed: a
 * counter of edits changes with the text, a counter of views does not.
 */
function mustChangeAlone(
  field: number,
  streak: Streak | undefined,
  { carrying }: Pick<FieldObservation, 'carrying'>,
): boolean {
  const carriers = streak?.samples.length ?? carrying;
  return carriers < THRESHOLDS.samples && FINGERPRINT_FIELDS[field] === 'other';
}

function mutedFieldsOf(volatility: VolatileMessageFields): FieldSet {
  let muted = 0;
  for (const [field, streak] of volatility) if (streak.muted) muted |= 1 << field;
  return muted;
}

/**
 * Returns what a read shows about a field. `differingAlone` is the number of messages in which only this field
 * differs: no other field and no flag.
 */
function viewOf(
  field: number,
  messages: readonly ReadMessage[],
  marks: ReadonlyMap<number, ReadMessage> | undefined,
): FieldObservation & { differingAlone: number } {
  const bit = 1 << field;
  let [carrying, differing, differingAlone] = [0, 0, 0];
  for (const message of messages) {
    if (message.differing === bit && !message.hasOtherState) differingAlone += 1;
    if ((message.differing & bit) !== 0) differing += 1;
    else if (isFieldNonEmpty(message.message, field)) carrying += 1;
  }
  return {
    carrying: carrying + differing,
    differing,
    differingAlone,
    carriers: () => newestCarriers(field, messages),
    valueOf: (elementHash) => marks?.get(elementHash)?.fingerprint.fields[field],
  };
}

function newestCarriers(field: number, messages: readonly ReadMessage[]): Sample[] {
  const samples: Sample[] = [];
  for (let i = messages.length - 1; i >= 0 && samples.length < THRESHOLDS.samples; i -= 1) {
    const read = messages[i];
    if (read === undefined || !isFieldNonEmpty(read.message, field)) continue;
    samples.push({ elementHash: markOf(read.message.id), value: read.fingerprint.fields[field] ?? 0 });
  }
  return samples;
}

function markedMessages(messages: readonly ReadMessage[]): ReadonlyMap<number, ReadMessage> {
  return new Map(messages.map((read) => [markOf(read.message.id), read]));
}

const hash = new JsonHasher();

function markOf(id: string): number {
  hash.restart();
  hash.addText(id);
  hash.finish();
  return hash.low & 0xff_ff;
}

/**
 * Version of the bytes that {@link packVolatileMessageFields} returns. Bytes with any other version count as damaged.
 */
const FORMAT = 1;
const MUTED = 16;
const COMMON = 32;
/**
 * The two highest bits of the first byte of a packed field contain {@link Streak.missedReads}. The other six bits
 * contain the index of the field, {@link MUTED} and {@link COMMON}.
 */
const MISSED_SHIFT = 6;

/**
 * Returns the volatile fields of a contact's messages as bytes: a format version, then 3 bytes for each field
 * and 4 bytes for each sample of the field. Without volatile fields, the result is empty.
 */
export function packVolatileMessageFields(volatility: VolatileMessageFields): Buffer {
  const packed = new PackedBytesWriter();
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

/**
 * Returns the state that {@link packVolatileMessageFields} packed. Damaged bytes count as an empty state: each
 * volatile field then emits two more events per message before it is muted again.
 */
export function unpackVolatileMessageFields(bytes: Buffer | undefined): VolatileMessageFields {
  if (bytes === undefined || bytes.length === 0) return NO_VOLATILE_MESSAGE_FIELDS;
  try {
    return unpack(bytes);
  } catch (error) {
    if (error instanceof DamagedSnapshotError) return NO_VOLATILE_MESSAGE_FIELDS;
    throw error;
  }
}

function unpack(bytes: Buffer): VolatileMessageFields {
  const packed = new PackedBytesReader(bytes);
  const volatility = new Map<number, Streak>();
  if (packed.byte() !== FORMAT) throw new DamagedSnapshotError();
  for (let left = bytes.length - 1; left > 0;) {
    const [head, counts, count] = [packed.byte(), packed.byte(), packed.byte()];
    const field = head & (MUTED - 1);
    const streak = {
      // Builds of 27 November 2026 stored longer streaks. They mean the same as the longest streak that this build
      // stores.
      length: Math.min(counts >> 4, THRESHOLDS.emittedReads + 2),
      unchangedReads: counts & 15,
      muted: (head & MUTED) !== 0,
      isCommon: (head & COMMON) !== 0,
      missedReads: head >> MISSED_SHIFT,
    };
    if (field >= FINGERPRINT_FIELDS.length || count > THRESHOLDS.samples) {
      throw new DamagedSnapshotError();
    }
    if (streak.length === 0) throw new DamagedSnapshotError();
    const samples = Array.from({ length: count }, () => ({
      elementHash: packed.bits16(),
      value: packed.bits16(),
    }));
    volatility.set(field, { ...streak, samples });
    left -= 3 + 4 * count;
  }
  return volatility;
}
