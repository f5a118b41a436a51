import { DamagedSnapshotError } from '../packed-bytes.js';

/**
 * First byte of a packed id: `UUID_MARK` for a UUID, `HEX_MARK` for another long hexadecimal id. Each further
 * byte stores two hexadecimal digits. All other ids are stored as UTF-8 text, which never starts with one of
 * these two bytes.
 */
const UUID_MARK = 0xff;
const HEX_MARK = 0xfe;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const HEX = /^(?:[0-9a-f]{2}){8,32}$/;
const UUID_BYTES = 16;

/**
 * Packs an id into few bytes: a UUID or another long hexadecimal id takes about half its length. {@link unpackId}
 * restores the id.
 */
export function packId(id: string): Buffer {
  if (UUID.test(id)) return marked(UUID_MARK, id.replaceAll('-', ''));
  if (HEX.test(id)) return marked(HEX_MARK, id);
  return Buffer.from(id);
}

/**
 * Restores the exact id that {@link packId} packed.
 * @throws {DamagedSnapshotError} if a packed UUID has a wrong number of bytes
 */
export function unpackId(packed: Buffer): string {
  const hex = packed.toString('hex', 1);
  if (packed[0] === HEX_MARK) return hex;
  if (packed[0] !== UUID_MARK) return packed.toString();
  if (packed.length !== 1 + UUID_BYTES) throw new DamagedSnapshotError();
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

function marked(mark: number, hex: string): Buffer {
  return Buffer.from(mark.toString(16) + hex, 'hex');
}
