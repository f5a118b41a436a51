import { isRecord } from '#platform';
import type { UpstreamMessage } from '#upstream';
import { JsonHasher } from './json-hasher.js';

/**
 * The fields of the fingerprint that the `changes` of an event list by name. All other fields of the fingerprint are
 * listed together as `other`. The flags (`status.delivered`, `status.read`) and `deleted` also have names of their
 * own in `changes`, but are not part of the fingerprint.
 */
export const FINGERPRINT_FIELDS_NAMED_IN_EVENT_CHANGES = [
  'from',
  'to',
  'direction',
  'message',
  'timestamp',
  'attachments',
  'service',
  'type',
] as const;

/**
 * Name of a field of the fingerprint in the `changes` of an event: one of
 * {@link FINGERPRINT_FIELDS_NAMED_IN_EVENT_CHANGES}, or `other` for all other fields except the id and the flags.
 */
export type FingerprintField = (typeof FINGERPRINT_FIELDS_NAMED_IN_EVENT_CHANGES)[number] | 'other';

export const FINGERPRINT_FIELDS: readonly FingerprintField[] = [
  ...FINGERPRINT_FIELDS_NAMED_IN_EVENT_CHANGES,
  'other',
];

/**
 * Hashes of a message. By comparing hashes, Tidings detects changes without storing the text of the message.
 */
export interface Fingerprint {
  /**
   * `high` and `low` are the two halves of a 64-bit hash, as signed 32-bit integers. The hash is computed from all
   * fields of the message except the id, the flags `read` and `delivered`, and volatile fields that the fingerprint
   * leaves out. It shows whether the message changed.
   */
  high: number;
  low: number;
  /**
   * One 16-bit hash for each field, in the order of {@link FINGERPRINT_FIELDS}. These hashes show which
   * fields of the message changed.
   */
  fields: readonly number[];
}

/** Fingerprint of a message that was just read from upstream. */
export interface SeenFingerprint extends Fingerprint {
  /** Present if this fingerprint leaves out the signature of a URL. */
  signed?: true;
}

/**
 * A set of message fields as a bit mask: bit n stands for the field at index n of {@link FINGERPRINT_FIELDS}.
 */
export type FieldSet = number;
const OTHER_FIELDS_BIT: FieldSet = 1 << FINGERPRINT_FIELDS_NAMED_IN_EVENT_CHANGES.length;

/** Returns the set of the message fields with the given names. */
export function fieldSetOf(
  ...names: readonly (typeof FINGERPRINT_FIELDS_NAMED_IN_EVENT_CHANGES)[number][]
): FieldSet {
  return names.reduce((set, name) => set | (1 << FINGERPRINT_FIELDS_NAMED_IN_EVENT_CHANGES.indexOf(name)), 0);
}

/**
 * Message fields in which the signatures of URLs are left out of the hash. The message's text is not among
 * these fields, because a person may correct a link in the text.
 */
const SIGNED_FIELDS: FieldSet = fieldSetOf('attachments') | OTHER_FIELDS_BIT;

const hash = new JsonHasher();
const wholeHash = new JsonHasher();

/**
 * Marks a field that a fingerprint leaves out: the fingerprint contains this number in place of the field's
 * 16-bit hash.
 */
const LEFT_OUT_MARKER = leftOutMarker();

/**
 * Returns the fingerprint of a message. It depends neither on the order of object keys nor on the signatures of
 * URLs in {@link SIGNED_FIELDS}.
 * @param ignored fields to leave out
 */
export function messageFingerprintOf(
  { raw }: Pick<UpstreamMessage, 'raw'>,
  ignored: FieldSet = 0,
): SeenFingerprint {
  const fingerprint: SeenFingerprint = computeFingerprint(raw, SIGNED_FIELDS, ignored);
  if (hash.takeIgnoredSignature()) fingerprint.signed = true;
  return fingerprint;
}

/**
 * Returns the fingerprint of a message as older builds of Tidings stored it: signatures of URLs are included.
 * If no URL is signed, the result equals that of {@link messageFingerprintOf}.
 */
export function messageFingerprintIncludingUrlSignatures({ raw }: Pick<UpstreamMessage, 'raw'>): Fingerprint {
  return computeFingerprint(raw, 0, 0);
}

function computeFingerprint(raw: UpstreamMessage['raw'], signed: FieldSet, ignored: FieldSet): Fingerprint {
  wholeHash.restart();
  const fields: number[] = [];
  let bit = 1;
  for (const field of FINGERPRINT_FIELDS_NAMED_IN_EVENT_CHANGES) {
    hash.restart();
    hash.ignoresSignatures = (signed & bit) !== 0;
    if ((ignored & bit) === 0) hash.add(raw[field]);
    else hash.addIgnored();
    fields.push(addFieldHash());
    bit <<= 1;
  }
  hash.restart();
  hash.ignoresSignatures = (signed & OTHER_FIELDS_BIT) !== 0;
  if ((ignored & OTHER_FIELDS_BIT) === 0) addOthers(raw);
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

function leftOutMarker(): number {
  hash.restart();
  hash.addIgnored();
  hash.finish();
  return hash.low & 0xff_ff;
}

/**
 * Adds the hash of one field to the hash of the whole message. Returns the lowest 16 bits of the field's
 * hash.
 */
function addFieldHash(): number {
  hash.finish();
  wholeHash.addBits(hash.high);
  wholeHash.addBits(hash.low);
  return hash.low & 0xff_ff;
}

/**
 * Returns the message fields that a fingerprint leaves out. A field that the fingerprint includes may be
 * returned by mistake: by chance, 1 of 65,536 hashes equals {@link LEFT_OUT_MARKER}. Callers therefore also
 * compare the hash of the whole message.
 */
export function fieldsLeftOutOfFingerprint(fingerprint: Fingerprint): FieldSet {
  const { fields } = fingerprint;
  let ignored = 0;
  for (let i = 0; i < fields.length; i += 1) if (fields[i] === LEFT_OUT_MARKER) ignored |= 1 << i;
  return ignored;
}

/** Returns the message fields whose hashes differ between two fingerprints. */
export function differingFields(before: Fingerprint, after: Fingerprint): FieldSet {
  let differing = 0;
  for (let i = 0; i < before.fields.length; i += 1) {
    if (before.fields[i] !== after.fields[i]) differing |= 1 << i;
  }
  return differing;
}

/** Converts a set of message fields into a list of their names, in the order of {@link FINGERPRINT_FIELDS}. */
export function fieldNamesOf(fields: FieldSet): FingerprintField[] {
  return FINGERPRINT_FIELDS.filter((_, i) => (fields & (1 << i)) !== 0);
}

/**
 * Returns true if a message has a value in a field, other than null, an empty text or an empty list. For the field
 * `other`, the values do not matter: returns true if the message has any of the fields that `other` stands for. An
 * empty field cannot be volatile.
 * @param field index of the field in {@link FINGERPRINT_FIELDS}
 */
export function isFieldNonEmpty({ raw }: Pick<UpstreamMessage, 'raw'>, field: number): boolean {
  const name = FINGERPRINT_FIELDS_NAMED_IN_EVENT_CHANGES[field];
  if (name !== undefined) return !isEmpty(raw[name]);
  for (const key in raw) if (!isIdOrNamed(key)) return true;
  return isRecord(raw.status) && Object.keys(raw.status).some((key) => !isFlag(key));
}

/** Returns those fields of a set that are not empty in a message. */
export function nonEmptyFieldsOf(message: Pick<UpstreamMessage, 'raw'>, fields: FieldSet): FieldSet {
  let filled = 0;
  for (let field = 0; fields >> field > 0; field += 1) {
    if ((fields & (1 << field)) !== 0 && isFieldNonEmpty(message, field)) filled |= 1 << field;
  }
  return filled;
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

/**
 * Returns true if two fingerprints stand for the same message content: their hashes of the whole message are
 * equal.
 */
export function haveSameMessageContent(one: Fingerprint, other: Fingerprint): boolean {
  return one.high === other.high && one.low === other.low;
}

/**
 * Returns the fields of a message that events report together under the name `other`: all fields except the id, the
 * fields in {@link FINGERPRINT_FIELDS_NAMED_IN_EVENT_CHANGES}, and the flags `read` and `delivered` in the field
 * `status`. If one of the returned fields changed, `other` contains all of them.
 */
export function fieldsReportedAsOther(raw: UpstreamMessage['raw']): Record<string, unknown> {
  const rest = Object.entries(raw).filter(([key]) => key === 'status' || !isIdOrNamed(key));
  return Object.fromEntries(
    rest.map(([key, value]) => [key, key === 'status' ? withoutFlags(value) : value]),
  );
}

function withoutFlags(status: unknown): unknown {
  if (!isRecord(status)) return status;
  return Object.fromEntries(Object.entries(status).filter(([key]) => !isFlag(key)));
}

const ID_AND_NAMED: ReadonlySet<string> = new Set([
  'id',
  'status',
  ...FINGERPRINT_FIELDS_NAMED_IN_EVENT_CHANGES,
]);

function isIdOrNamed(key: string): boolean {
  return ID_AND_NAMED.has(key);
}

function isFlag(key: string): boolean {
  return key === 'read' || key === 'delivered';
}
