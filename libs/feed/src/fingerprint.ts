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

const hash = new JsonHash();
const wholeHash = new JsonHash();

/** The fingerprint of a message as upstream shows it. The order of its keys does not matter. */
export function fingerprintOf({ raw }: Pick<UpstreamMessage, 'raw'>): Fingerprint {
  wholeHash.restart();
  const fields: number[] = [];
  for (const field of NAMED_FIELDS) {
    hash.restart();
    hash.add(raw[field]);
    fields.push(taken());
  }
  hash.restart();
  hash.addRecord(raw, isTakenElsewhere);
  if (isRecord(raw.status)) hash.addRecord(raw.status, isFlag);
  else hash.add(raw.status);
  fields.push(taken());
  wholeHash.finish();
  return { high: wholeHash.high, low: wholeHash.low, fields };
}

/** Adds what was hashed of one field to the whole; answers the field's 16 bits. */
function taken(): number {
  hash.finish();
  wholeHash.addBits(hash.high);
  wholeHash.addBits(hash.low);
  return hash.low & 0xff_ff;
}

/** Whether two fingerprints are of the same form. */
export function isSameForm(one: Fingerprint, other: Fingerprint): boolean {
  return one.high === other.high && one.low === other.low;
}

/** Which fields differ between two fingerprints. */
export function changedFields(before: Fingerprint, after: Fingerprint): FingerprintField[] {
  return FINGERPRINT_FIELDS.filter((_, i) => before.fields[i] !== after.fields[i]);
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
