import type { ListedContact } from './listed-contacts.js';
import { DamagedSnapshotError, PackedBytesReader, PackedBytesWriter } from '../packed-bytes.js';

const DELETED = 1;
const HAS_MISSING_SINCE = 2;
const ALL_BITS = DELETED | HAS_MISSING_SINCE;
const FINGERPRINT_BYTES = 8;

/** Status bits in the first byte of a packed contact, as constants for Lua scripts. */
export const LISTED_CONTACT_STATUS_BITS = { DELETED, ALL_BITS };

/**
 * Packs the snapshot of a contact: status bits (1 byte), fingerprint (8 bytes), and, if the contact is missing, the
 * time since which it is missing.
 */
export function packListedContact({ fingerprint, deleted, missingSince }: ListedContact): Buffer {
  const packed = new PackedBytesWriter()
    .byte((deleted ? DELETED : 0) | (missingSince === undefined ? 0 : HAS_MISSING_SINCE))
    .bits32(parseInt(fingerprint.slice(0, 8), 16))
    .bits32(parseInt(fingerprint.slice(8), 16));
  if (missingSince !== undefined) packed.number(Math.floor(missingSince));
  return packed.done();
}

/**
 * Unpacks the snapshot of a contact. If the bytes are damaged, the fingerprint is empty, so that the contact
 * counts as changed.
 */
export function unpackListedContact(packed: Buffer): ListedContact {
  try {
    return read(new PackedBytesReader(packed));
  } catch (error) {
    if (error instanceof DamagedSnapshotError) return { fingerprint: '', deleted: false };
    throw error;
  }
}

function read(packed: PackedBytesReader): ListedContact {
  const statusBits = packed.byte();
  if (statusBits > ALL_BITS) throw new DamagedSnapshotError();
  const listed: ListedContact = {
    fingerprint: packed.hex(FINGERPRINT_BYTES),
    deleted: (statusBits & DELETED) !== 0,
  };
  if ((statusBits & HAS_MISSING_SINCE) !== 0) listed.missingSince = packed.number();
  packed.end();
  return listed;
}
