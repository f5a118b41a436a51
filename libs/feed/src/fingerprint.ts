import { createHash } from 'node:crypto';
import { isRecord, type UpstreamMessage } from '#upstream';

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
  /** 64 bits over everything but the id and the two flags, in hexadecimal: whether it changed. */
  whole: string;
  /** 16 bits a field, in the order of {@link FINGERPRINT_FIELDS}: what changed. */
  fields: readonly number[];
}

/** The fingerprint of a message as upstream shows it. The order of its keys does not matter. */
export function fingerprintOf({ raw }: UpstreamMessage): Fingerprint {
  const texts = FINGERPRINT_FIELDS.map((field) =>
    canonicalJson(field === 'other' ? otherFields(raw) : raw[field]),
  );
  const whole = createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 16);
  return { whole, fields: texts.map((text) => createHash('sha1').update(text).digest().readUInt16BE(0)) };
}

/** Which fields differ between two fingerprints. */
export function changedFields(before: Fingerprint, after: Fingerprint): FingerprintField[] {
  return FINGERPRINT_FIELDS.filter((_, i) => before.fields[i] !== after.fields[i]);
}

/** What a message holds besides its id, its named fields and the two flags. */
export function otherFields(raw: UpstreamMessage['raw']): Record<string, unknown> {
  const rest = Object.entries(raw).filter(
    ([key]) => key !== 'id' && !NAMED_FIELDS.some((field) => field === key),
  );
  return Object.fromEntries(
    rest.map(([key, value]) => [key, key === 'status' ? withoutFlags(value) : value]),
  );
}

function withoutFlags(status: unknown): unknown {
  if (!isRecord(status)) return status;
  return Object.fromEntries(Object.entries(status).filter(([key]) => key !== 'read' && key !== 'delivered'));
}

/** JSON with the keys of every object in order, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === undefined) return 'absent';
  if (!isRecord(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`).join(',')}}`;
}
