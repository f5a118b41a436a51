import { isRecord, type UpstreamMessage } from '#upstream';
import { JsonHash } from './json-hash.js';

/** Message fields that `changes` names; all other fields together are named `other`. */
export const NAMED_FIELDS = [
  'from',
  'to',
  'direction',
  'message',
  'timestamp',
  'attachments',
  'service',
  'type',
] as const;

/** A named field, or `other` for all other fields together. */
export type FingerprintField = (typeof NAMED_FIELDS)[number] | 'other';

export const FINGERPRINT_FIELDS: readonly FingerprintField[] = [...NAMED_FIELDS, 'other'];

/** Hashes of a message, which detect changes without keeping the message's text. */
export interface Fingerprint {
  /** Hash of all fields but the id and the two flags: 64 bits in two signed 32-bit halves. Detects a change. */
  high: number;
  low: number;
  /** One 16-bit hash per field, in the order of {@link FINGERPRINT_FIELDS}. Shows which field changed. */
  fields: readonly number[];
}

/** Fingerprint of a message that was just read. */
export interface SeenFingerprint extends Fingerprint {
  /** Present if the fingerprint leaves out a signature: then {@link fingerprintWithSignatures} differs. */
  signed?: true;
}

/** Set of fields as a bit mask: bit n stands for entry n of {@link FINGERPRINT_FIELDS}. */
export type FieldSet = number;
export const OTHER_FIELDS: FieldSet = 1 << NAMED_FIELDS.length;
const ATTACHMENTS: FieldSet = 1 << NAMED_FIELDS.indexOf('attachments');
/** Fields in which the signatures of URLs are left out. In a message's text they count: a person may correct a link. */
const SIGNED_FIELDS: FieldSet = ATTACHMENTS | OTHER_FIELDS;

const hash = new JsonHash();
const wholeHash = new JsonHash();

/** The 16-bit hash stored for a field that the fingerprint leaves out. */
const IGNORED_BITS = ignoredBits();

/**
 * Returns the fingerprint of a message. Neither signatures in URLs nor the order of keys matter.
 * @param ignored fields to leave out; {@link ignoredFields} recognizes them in the result
 */
export function fingerprintOf({ raw }: Pick<UpstreamMessage, 'raw'>, ignored: FieldSet = 0): SeenFingerprint {
  const fingerprint: SeenFingerprint = computeFingerprint(raw, SIGNED_FIELDS, ignored);
  if (hash.takeIgnoredSignature()) fingerprint.signed = true;
  return fingerprint;
}

/** Returns the fingerprint as older builds stored it, with signatures. Equals the new one if no URL is signed. */
export function fingerprintWithSignatures({ raw }: Pick<UpstreamMessage, 'raw'>): Fingerprint {
  return computeFingerprint(raw, 0, 0);
}

function computeFingerprint(raw: UpstreamMessage['raw'], signed: FieldSet, ignored: FieldSet): Fingerprint {
  wholeHash.restart();
  const fields: number[] = [];
  let bit = 1;
  for (const field of NAMED_FIELDS) {
    hash.restart();
    hash.ignoresSignatures = (signed & bit) !== 0;
    if ((ignored & bit) === 0) hash.add(raw[field]);
    else hash.addIgnored();
    fields.push(addFieldHash());
    bit <<= 1;
  }
  hash.restart();
  hash.ignoresSignatures = (signed & OTHER_FIELDS) !== 0;
  if ((ignored & OTHER_FIELDS) === 0) addOthers(raw);
  else hash.addIgnored();
  fields.push(addFieldHash());
  wholeHash.finish();
  return { high: wholeHash.high, low: wholeHash.low, fields };
}

function addOthers(raw: UpstreamMessage['raw']): void {
  hash.addRecord(raw, isIdOrNamed);
  if (isRecord(raw.status)) hash.addRecord(raw.status, isFlag);
  else hash.add(raw.status);
}

function ignoredBits(): number {
  hash.restart();
  hash.addIgnored();
  hash.finish();
  return hash.low & 0xff_ff;
}

/** Adds the hash of one field to the hash of the whole message and returns the field's 16 bits. */
function addFieldHash(): number {
  hash.finish();
  wholeHash.addBits(hash.high);
  wholeHash.addBits(hash.low);
  return hash.low & 0xff_ff;
}

/**
 * Returns the fields that were left out of a fingerprint. One field in 65,536 has the same bits by chance, so callers also
 * compare the hash of the whole message.
 */
export function ignoredFields({ fields }: Fingerprint): FieldSet {
  let ignored = 0;
  for (let i = 0; i < fields.length; i += 1) if (fields[i] === IGNORED_BITS) ignored |= 1 << i;
  return ignored;
}

/** Returns the fields in which two fingerprints differ. */
export function differingFields(before: Fingerprint, after: Fingerprint): FieldSet {
  let differing = 0;
  for (let i = 0; i < before.fields.length; i += 1) {
    if (before.fields[i] !== after.fields[i]) differing |= 1 << i;
  }
  return differing;
}

/** Returns the names of a set of fields, in the order of {@link FINGERPRINT_FIELDS}. */
export function fieldNamesOf(fields: FieldSet): FingerprintField[] {
  return FINGERPRINT_FIELDS.filter((_, i) => (fields & (1 << i)) !== 0);
}

/** Returns true if a field of a message is not empty. An empty field cannot be volatile. */
export function isFilled({ raw }: Pick<UpstreamMessage, 'raw'>, field: number): boolean {
  const name = NAMED_FIELDS[field];
  if (name !== undefined) return !isEmpty(raw[name]);
  for (const key in raw) if (!isIdOrNamed(key)) return true;
  return isRecord(raw.status) && Object.keys(raw.status).some((key) => !isFlag(key));
}

/** Filters a set of fields: returns the fields that are not empty in the message. */
export function filledFields(message: Pick<UpstreamMessage, 'raw'>, fields: FieldSet): FieldSet {
  let filled = 0;
  for (let field = 0; fields >> field > 0; field += 1) {
    if ((fields & (1 << field)) !== 0 && isFilled(message, field)) filled |= 1 << field;
  }
  return filled;
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

/** Returns true if two fingerprints have the same hash of the whole message. */
export function haveSameContent(one: Fingerprint, other: Fingerprint): boolean {
  return one.high === other.high && one.low === other.low;
}

/** Returns the names of the fields in which two fingerprints differ. */
export function changedFields(before: Fingerprint, after: Fingerprint): FingerprintField[] {
  return fieldNamesOf(differingFields(before, after));
}

/** Returns the fields of a message other than the id, the named fields and the two flags. */
export function otherFields(raw: UpstreamMessage['raw']): Record<string, unknown> {
  const rest = Object.entries(raw).filter(([key]) => key === 'status' || !isIdOrNamed(key));
  return Object.fromEntries(
    rest.map(([key, value]) => [key, key === 'status' ? withoutFlags(value) : value]),
  );
}

function withoutFlags(status: unknown): unknown {
  if (!isRecord(status)) return status;
  return Object.fromEntries(Object.entries(status).filter(([key]) => !isFlag(key)));
}

const ID_AND_NAMED: ReadonlySet<string> = new Set(['id', 'status', ...NAMED_FIELDS]);

function isIdOrNamed(key: string): boolean {
  return ID_AND_NAMED.has(key);
}

function isFlag(key: string): boolean {
  return key === 'read' || key === 'delivered';
}
