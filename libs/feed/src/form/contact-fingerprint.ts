import { createHash } from 'node:crypto';
import { isRecord, type UpstreamContact } from '#upstream';
import { canonicalJson } from './canonical-json.js';
import { withoutSignature } from './signed-address.js';

type Raw = UpstreamContact['raw'];

/** What changed of a contact: `from` and `to` by field, each absent where the field was. */
export type ContactChanges = Record<string, { from?: unknown; to?: unknown }>;

const NO_FIELDS: ReadonlySet<string> = new Set();

/**
 * 64 bits, in hexadecimal, that tell one form of a contact from another, the signatures of its addresses aside.
 * @param ignored top-level fields that do not count
 */
export function contactFingerprint(
  { raw }: Pick<UpstreamContact, 'raw'>,
  ignored: ReadonlySet<string> = NO_FIELDS,
): string {
  return hashOf(without(raw, ignored), withoutSignature);
}

/** As builds before signatures were left out worked it out and stored it; the same for all but signed contacts. */
export function plainContactFingerprint({ raw }: Pick<UpstreamContact, 'raw'>): string {
  return hashOf(raw);
}

/**
 * Which fields changed, other than in the signature of an address.
 * @param before the contact's last form as JSON, if it is known
 */
export function contactChanges(
  before: string | undefined,
  { raw }: Pick<UpstreamContact, 'raw'>,
): ContactChanges {
  const parsed: unknown = before === undefined ? {} : JSON.parse(before);
  const old = isRecord(parsed) ? parsed : {};
  const fields = [...new Set([...Object.keys(old), ...Object.keys(raw)])];
  const changed = fields.filter((field) => levelled(old[field]) !== levelled(raw[field]));
  return Object.fromEntries(
    changed.map((field) => [
      field,
      { ...(field in old ? { from: old[field] } : {}), ...(field in raw ? { to: raw[field] } : {}) },
    ]),
  );
}

/** A few bits that tell one value of a field from another. */
export function valueMark(value: unknown): number {
  return createHash('sha1').update(levelled(value)).digest().readUInt32BE(0);
}

function levelled(value: unknown): string {
  return canonicalJson(value, withoutSignature);
}

function without(raw: Raw, ignored: ReadonlySet<string>): Raw {
  if (ignored.size === 0) return raw;
  return Object.fromEntries(Object.entries(raw).filter(([field]) => !ignored.has(field)));
}

function hashOf(raw: Raw, textOf?: (text: string) => string): string {
  // A slice of the whole text would hold on to all of it, once for each contact.
  return createHash('sha256').update(canonicalJson(raw, textOf)).digest().toString('hex', 0, 8);
}
