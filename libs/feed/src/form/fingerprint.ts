import { isRecord, type UpstreamMessage } from '#upstream';
import { JsonHash } from './json-hash.js';

/** The fields of a message whose changes are told by name; all others together are `other`. */
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

/** A named field, or what stands for all others. */
export type FingerprintField = (typeof NAMED_FIELDS)[number] | 'other';

export const FINGERPRINT_FIELDS: readonly FingerprintField[] = [...NAMED_FIELDS, 'other'];

/** What tells one form of a message from another without keeping its text. */
export interface Fingerprint {
  /** 64 bits over everything but the id and the two flags, as two signed halves: whether it changed. */
  high: number;
  low: number;
  /** 16 bits a field, in the order of {@link FINGERPRINT_FIELDS}: what changed. */
  fields: readonly number[];
}

/** The fingerprint of a message as it was just read. */
export interface SeenFingerprint extends Fingerprint {
  /** A signature was left out of it: {@link plainFingerprintOf} is another one. */
  signed?: true;
}

/** Sets of fields are bits, in the order of {@link FINGERPRINT_FIELDS}. */
export type FieldSet = number;
export const OTHER: FieldSet = 1 << NAMED_FIELDS.length;
const ATTACHMENTS: FieldSet = 1 << NAMED_FIELDS.indexOf('attachments');
/**
 * Where signatures of addresses are left out. In what people write they count: somebody may well correct a link.
 */
const SIGNED_FIELDS: FieldSet = ATTACHMENTS | OTHER;

const hash = new JsonHash();
const wholeHash = new JsonHash();

/** What stands for a field that is not looked at. */
const IGNORED_BITS = ignoredBits();

/**
 * The fingerprint of a message as upstream shows it, the signatures of its addresses aside. The order of its keys does
 * not matter.
 * @param ignored fields that are not looked at: {@link ignoredFields} finds them in what comes out
 */
export function fingerprintOf({ raw }: Pick<UpstreamMessage, 'raw'>, ignored: FieldSet = 0): SeenFingerprint {
  const fingerprint: SeenFingerprint = hashed(raw, SIGNED_FIELDS, ignored);
  if (hash.takeIgnoredSignature()) fingerprint.signed = true;
  return fingerprint;
}

/** As builds before signatures were left out worked it out and stored it; the same for all but signed messages. */
export function plainFingerprintOf({ raw }: Pick<UpstreamMessage, 'raw'>): Fingerprint {
  return hashed(raw, 0, 0);
}

function hashed(raw: UpstreamMessage['raw'], signed: FieldSet, ignored: FieldSet): Fingerprint {
  wholeHash.restart();
  const fields: number[] = [];
  let bit = 1;
  for (const field of NAMED_FIELDS) {
    hash.restart();
    hash.ignoresSignatures = (signed & bit) !== 0;
    if ((ignored & bit) === 0) hash.add(raw[field]);
    else hash.addIgnored();
    fields.push(taken());
    bit <<= 1;
  }
  hash.restart();
  hash.ignoresSignatures = (signed & OTHER) !== 0;
  if ((ignored & OTHER) === 0) addOthers(raw);
  else hash.addIgnored();
  fields.push(taken());
  wholeHash.finish();
  return { high: wholeHash.high, low: wholeHash.low, fields };
}

function addOthers(raw: UpstreamMessage['raw']): void {
  hash.addRecord(raw, isTakenElsewhere);
  if (isRecord(raw.status)) hash.addRecord(raw.status, isFlag);
  else hash.add(raw.status);
}

function ignoredBits(): number {
  hash.restart();
  hash.addIgnored();
  hash.finish();
  return hash.low & 0xff_ff;
}

/** Adds what was hashed of one field to the whole; answers the field's 16 bits. */
function taken(): number {
  hash.finish();
  wholeHash.addBits(hash.high);
  wholeHash.addBits(hash.low);
  return hash.low & 0xff_ff;
}

/**
 * Which fields were not looked at when a fingerprint was taken. Once in 65,536 a field looks so that was: whoever asks
 * compares the whole, too.
 */
export function ignoredFields({ fields }: Fingerprint): FieldSet {
  let ignored = 0;
  for (let i = 0; i < fields.length; i += 1) if (fields[i] === IGNORED_BITS) ignored |= 1 << i;
  return ignored;
}

/** The fields in which two fingerprints differ. */
export function differingFields(before: Fingerprint, after: Fingerprint): FieldSet {
  let differing = 0;
  for (let i = 0; i < before.fields.length; i += 1) {
    if (before.fields[i] !== after.fields[i]) differing |= 1 << i;
  }
  return differing;
}

/** The names of a set of fields, in their order. */
export function namesOf(fields: FieldSet): FingerprintField[] {
  return FINGERPRINT_FIELDS.filter((_, i) => (fields & (1 << i)) !== 0);
}

/** Whether a field of a message holds anything: only then can it differ from read to read. */
export function isFilled({ raw }: Pick<UpstreamMessage, 'raw'>, field: number): boolean {
  const name = NAMED_FIELDS[field];
  if (name !== undefined) return !isEmpty(raw[name]);
  for (const key in raw) if (!isTakenElsewhere(key)) return true;
  return isRecord(raw.status) && Object.keys(raw.status).some((key) => !isFlag(key));
}

/** The fields of a message, out of these, that hold anything. */
export function filledFields(message: Pick<UpstreamMessage, 'raw'>, of: FieldSet): FieldSet {
  let filled = 0;
  for (let field = 0; of >> field > 0; field += 1) {
    if ((of & (1 << field)) !== 0 && isFilled(message, field)) filled |= 1 << field;
  }
  return filled;
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

/** Whether two fingerprints are of the same form. */
export function isSameForm(one: Fingerprint, other: Fingerprint): boolean {
  return one.high === other.high && one.low === other.low;
}

/** Which fields differ between two fingerprints. */
export function changedFields(before: Fingerprint, after: Fingerprint): FingerprintField[] {
  return namesOf(differingFields(before, after));
}

/** What a message holds besides its id, its named fields and the two flags. */
export function otherFields(raw: UpstreamMessage['raw']): Record<string, unknown> {
  const rest = Object.entries(raw).filter(([key]) => key === 'status' || !isTakenElsewhere(key));
  return Object.fromEntries(
    rest.map(([key, value]) => [key, key === 'status' ? withoutFlags(value) : value]),
  );
}

function withoutFlags(status: unknown): unknown {
  if (!isRecord(status)) return status;
  return Object.fromEntries(Object.entries(status).filter(([key]) => !isFlag(key)));
}

const TAKEN_ELSEWHERE: ReadonlySet<string> = new Set(['id', 'status', ...NAMED_FIELDS]);

function isTakenElsewhere(key: string): boolean {
  return TAKEN_ELSEWHERE.has(key);
}

function isFlag(key: string): boolean {
  return key === 'read' || key === 'delivered';
}
