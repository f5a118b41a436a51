import type { Direction } from '#upstream';
import { FINGERPRINT_FIELDS, messageFingerprintOf } from '../form/fingerprint.js';
import type { KnownMessage } from './known-message.js';
import { DamagedSnapshotError, PackedBytesReader, PackedBytesWriter } from '../packed-bytes.js';

/**
 * A packed message snapshot contains in this order:
 *
 * - status bits (1 byte): the constants below;
 * - presence bits (2 bytes);
 * - revision (1 byte or more);
 * - timestamp in minutes (4 bytes, optional);
 * - time since which the message is missing, in seconds (4 bytes, optional);
 * - hash of the whole message (8 bytes);
 * - each field hash that differs from the field hash of a message without content (2 bytes each).
 *
 * A packed message snapshot must not be longer than 64 bytes, because Redis stores longer values less compactly.
 */
const DELIVERED = 1;
const READ = 2;
const DELIVERED_EMITTED = 4;
const READ_EMITTED = 8;
const DELETED = 16;
const DIRECTION_SHIFT = 5;
/** Status bit that is reserved for later versions of the packed form. No version so far sets it. */
const LATER_VERSION = 128;

/**
 * Presence bits: they say which optional values follow. The lowest bits stand for the field hashes, in the
 * order of {@link FINGERPRINT_FIELDS}.
 */
const HAS_TIMESTAMP = 1 << FINGERPRINT_FIELDS.length;
const HAS_MISSING_SINCE = HAS_TIMESTAMP << 1;
const ALL_PRESENCE_BITS = (HAS_MISSING_SINCE << 1) - 1;

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;
const DIRECTIONS: readonly Direction[] = ['other', 'inbound', 'outbound'];

/**
 * Field hashes of a message that has a direction and no other content, by direction. To save memory, a packed
 * snapshot contains only the field hashes that differ from these.
 */
const USUAL: Readonly<Record<Direction, readonly number[]>> = {
  other: usualFields({}),
  inbound: usualFields({ direction: 'inbound' }),
  outbound: usualFields({ direction: 'outbound' }),
};

function usualFields(fields: Record<string, unknown>): readonly number[] {
  return messageFingerprintOf({ raw: { ...fields, attachments: [], status: {} } }).fields;
}

export function packKnownMessage(known: KnownMessage): Buffer {
  const { direction, fingerprint } = known;
  const minute = packTime(known.timestamp, MINUTE_MS);
  // `missingSince` is rounded up to a whole second, so that a deletion is never emitted too early.
  const missing = packTime((known.missingSince ?? 1 - SECOND_MS) + SECOND_MS - 1, SECOND_MS);
  const unusual = fingerprint.fields.map((bits, i) => bits !== USUAL[direction][i]);
  const packed = new PackedBytesWriter()
    .byte(
      (known.delivered ? DELIVERED : 0) |
        (known.read ? READ : 0) |
        (known.deliveredEmitted ? DELIVERED_EMITTED : 0) |
        (known.readEmitted ? READ_EMITTED : 0) |
        (known.deleted ? DELETED : 0) |
        (DIRECTIONS.indexOf(direction) << DIRECTION_SHIFT),
    )
    .bits16(
      unusual.reduce((bits, is, i) => bits | (is ? 1 << i : 0), 0) |
        (minute > 0 ? HAS_TIMESTAMP : 0) |
        (missing > 0 ? HAS_MISSING_SINCE : 0),
    )
    .number(known.revision);
  if (minute > 0) packed.bits32(minute);
  if (missing > 0) packed.bits32(missing);
  packed.bits32(fingerprint.high).bits32(fingerprint.low);
  fingerprint.fields.forEach((bits, i) => {
    if (unusual[i] === true) packed.bits16(bits);
  });
  return packed.done();
}

/**
 * Unpacks a known message that {@link packKnownMessage} packed.
 * @throws {DamagedSnapshotError} if the bytes are damaged or were packed by a later version
 */
export function unpackKnownMessage(packed: Buffer): KnownMessage {
  const reader = new PackedBytesReader(packed);
  const flags = reader.byte();
  const direction = DIRECTIONS[(flags & ~LATER_VERSION) >> DIRECTION_SHIFT];
  const follows = reader.bits16();
  if (flags >= LATER_VERSION || direction === undefined || follows > ALL_PRESENCE_BITS)
    throw new DamagedSnapshotError();
  const known: KnownMessage = {
    direction,
    delivered: (flags & DELIVERED) !== 0,
    read: (flags & READ) !== 0,
    deliveredEmitted: (flags & DELIVERED_EMITTED) !== 0,
    readEmitted: (flags & READ_EMITTED) !== 0,
    deleted: (flags & DELETED) !== 0,
    revision: reader.number(),
    ...((follows & HAS_TIMESTAMP) === 0 ? {} : { timestamp: reader.bits32() * MINUTE_MS }),
    ...((follows & HAS_MISSING_SINCE) === 0 ? {} : { missingSince: reader.bits32() * SECOND_MS }),
    fingerprint: {
      high: reader.bits32() | 0,
      low: reader.bits32() | 0,
      // If the packed snapshot contains no field hash, all field hashes are the usual ones. Messages then share the
      // array `USUAL[direction]`, to save memory.
      fields:
        (follows & (HAS_TIMESTAMP - 1)) === 0
          ? USUAL[direction]
          : USUAL[direction].map((usual, i) => (((follows >> i) & 1) === 0 ? usual : reader.bits16())),
    },
  };
  reader.end();
  return known;
}

/**
 * Converts a time in milliseconds to whole units of `unitMs` since 1970. Returns 0 if the time is absent or
 * the result does not fit into 32 bits.
 */
function packTime(time: number | undefined, unitMs: number): number {
  const units = Math.floor((time ?? 0) / unitMs);
  return units > 0 && units <= 0xff_ff_ff_ff ? units : 0;
}
