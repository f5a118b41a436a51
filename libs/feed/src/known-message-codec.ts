import type { Direction } from '#upstream';
import { FINGERPRINT_FIELDS } from './fingerprint.js';
import type { KnownMessage } from './known-message.js';

/**
 * The packed form: flags (1 byte), revision (4), minute of the timestamp (4), second since which it is missing (4), the
 * whole fingerprint (8), 2 a field.
 * It stays below the 64 bytes up to which Redis keeps a small hash in its compact encoding.
 */
const FLAGS_AT = 0;
const REVISION_AT = 1;
const MINUTE_AT = 5;
const MISSING_AT = 9;
const WHOLE_AT = 13;
const FIELDS_AT = 21;
const LENGTH = FIELDS_AT + 2 * FINGERPRINT_FIELDS.length;

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;
const DIRECTIONS: readonly Direction[] = ['other', 'inbound', 'outbound'];

const DELIVERED = 1;
const READ = 2;
const TOLD_DELIVERED = 4;
const TOLD_READ = 8;
const DELETED = 16;
const DIRECTION_SHIFT = 5;

/** A remembered message was written by something else, or is damaged. */
export class DamagedSnapshotError extends Error {
  constructor() {
    super('A remembered message cannot be read.');
    this.name = 'DamagedSnapshotError';
  }
}

export function packKnownMessage(known: KnownMessage): Buffer {
  const packed = Buffer.alloc(LENGTH);
  const flags =
    (known.delivered ? DELIVERED : 0) |
    (known.read ? READ : 0) |
    (known.toldDelivered ? TOLD_DELIVERED : 0) |
    (known.toldRead ? TOLD_READ : 0) |
    (known.deleted ? DELETED : 0) |
    (DIRECTIONS.indexOf(known.direction) << DIRECTION_SHIFT);
  packed.writeUInt8(flags, FLAGS_AT);
  packed.writeUInt32BE(known.revision, REVISION_AT);
  packed.writeUInt32BE(packTime(known.timestamp, MINUTE_MS), MINUTE_AT);
  // Up to the next second: a deletion may be told a little later, never sooner.
  packed.writeUInt32BE(
    packTime((known.missingSince ?? 1 - SECOND_MS) + SECOND_MS - 1, SECOND_MS),
    MISSING_AT,
  );
  packed.writeInt32BE(known.fingerprint.high, WHOLE_AT);
  packed.writeInt32BE(known.fingerprint.low, WHOLE_AT + 4);
  known.fingerprint.fields.forEach((bits, i) => packed.writeUInt16BE(bits, FIELDS_AT + 2 * i));
  return packed;
}

/** @throws {DamagedSnapshotError} */
export function unpackKnownMessage(packed: Buffer): KnownMessage {
  if (packed.length !== LENGTH) throw new DamagedSnapshotError();
  const flags = packed.readUInt8(FLAGS_AT);
  const minute = packed.readUInt32BE(MINUTE_AT);
  const missing = packed.readUInt32BE(MISSING_AT);
  return {
    direction: DIRECTIONS[flags >> DIRECTION_SHIFT] ?? 'other',
    delivered: (flags & DELIVERED) !== 0,
    read: (flags & READ) !== 0,
    toldDelivered: (flags & TOLD_DELIVERED) !== 0,
    toldRead: (flags & TOLD_READ) !== 0,
    deleted: (flags & DELETED) !== 0,
    revision: packed.readUInt32BE(REVISION_AT),
    fingerprint: {
      high: packed.readInt32BE(WHOLE_AT),
      low: packed.readInt32BE(WHOLE_AT + 4),
      fields: FINGERPRINT_FIELDS.map((_, i) => packed.readUInt16BE(FIELDS_AT + 2 * i)),
    },
    ...(minute === 0 ? {} : { timestamp: minute * MINUTE_MS }),
    ...(missing === 0 ? {} : { missingSince: missing * SECOND_MS }),
  };
}

/** Whole units since 1970. Zero stands for none; what does not fit, long before or after any message, too. */
function packTime(time: number | undefined, unitMs: number): number {
  const units = Math.floor((time ?? 0) / unitMs);
  return units > 0 && units <= 0xff_ff_ff_ff ? units : 0;
}
