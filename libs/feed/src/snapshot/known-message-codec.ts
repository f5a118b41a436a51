import type { Direction } from '#upstream';
import { FINGERPRINT_FIELDS, fingerprintOf } from '../form/fingerprint.js';
import type { KnownMessage } from './known-message.js';
import { DamagedSnapshotError, PackedReader, PackedWriter } from '../packed-bytes.js';

/**
 * The packed form: flags (1 byte), presence bits (2), revision (1 or more), timestamp in minutes (4, optional),
 * start of the absence in seconds (4, optional), hash of the whole message (8), then 2 bytes for each field
 * hash that is not the usual one. The form stays below 64 bytes, the limit up to which Redis stores a small
 * hash compactly.
 */
const DELIVERED = 1;
const READ = 2;
const DELIVERED_EMITTED = 4;
const READ_EMITTED = 8;
const DELETED = 16;
const DIRECTION_SHIFT = 5;
/** Reserved for later versions: no form written so far sets this bit. */
const LATER_VERSION = 128;

/** Presence bits. The lowest bits stand for the field hashes, in the order of the fields. */
const HAS_TIMESTAMP = 1 << FINGERPRINT_FIELDS.length;
const HAS_MISSING_SINCE = HAS_TIMESTAMP << 1;
const ALL_PRESENCE_BITS = (HAS_MISSING_SINCE << 1) - 1;

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;
const DIRECTIONS: readonly Direction[] = ['other', 'inbound', 'outbound'];

/** Usual field hashes by direction: those of a message without attachments and undocumented fields. */
const USUAL: Readonly<Record<Direction, readonly number[]>> = {
  other: usualFields({}),
  inbound: usualFields({ direction: 'inbound' }),
  outbound: usualFields({ direction: 'outbound' }),
};

function usualFields(fields: Record<string, unknown>): readonly number[] {
  return fingerprintOf({ raw: { ...fields, attachments: [], status: {} } }).fields;
}

export function packKnownMessage(known: KnownMessage): Buffer {
  const { direction, fingerprint } = known;
  const minute = packTime(known.timestamp, MINUTE_MS);
  // The start of the absence is rounded up to a whole second, so that a deletion is never emitted too early.
  const missing = packTime((known.missingSince ?? 1 - SECOND_MS) + SECOND_MS - 1, SECOND_MS);
  const unusual = fingerprint.fields.map((bits, i) => bits !== USUAL[direction][i]);
  const packed = new PackedWriter()
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

/** @throws {DamagedSnapshotError} if the bytes are damaged or of a later version */
export function unpackKnownMessage(packed: Buffer): KnownMessage {
  const reader = new PackedReader(packed);
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
      // Most messages have the usual field hashes, so that they share one array.
      fields:
        (follows & (HAS_TIMESTAMP - 1)) === 0
          ? USUAL[direction]
          : USUAL[direction].map((usual, i) => (((follows >> i) & 1) === 0 ? usual : reader.bits16())),
    },
  };
  reader.end();
  return known;
}

/** Returns a time in whole units since 1970; 0 if the time is absent or does not fit into 32 bits. */
function packTime(time: number | undefined, unitMs: number): number {
  const units = Math.floor((time ?? 0) / unitMs);
  return units > 0 && units <= 0xff_ff_ff_ff ? units : 0;
}
