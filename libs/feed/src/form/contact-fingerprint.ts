import { createHash } from 'node:crypto';
import { isRecord, type UpstreamContact } from '#upstream';
import { canonicalJson } from './canonical-json.js';
import { withoutSignature } from './signed-url.js';

type Raw = UpstreamContact['raw'];

/** Changed fields of a contact. `from` is absent for a new field, `to` for a removed field. */
export type ContactChanges = Record<string, { from?: unknown; to?: unknown }>;

const NO_FIELDS: ReadonlySet<string> = new Set();

/**
 * Returns a 64-bit hash of a contact, in hexadecimal. Signatures in URLs do not count.
 * @param ignored top-level fields that do not count
 */
export function contactFingerprint(
  { raw }: Pick<UpstreamContact, 'raw'>,
  ignored: ReadonlySet<string> = NO_FIELDS,
): string {
  return hashOf(without(raw, ignored), withoutSignature);
}

/** Returns the fingerprint as older builds stored it, with signatures. Equals the new one if no URL is signed. */
export function contactFingerprintWithSignatures({ raw }: Pick<UpstreamContact, 'raw'>): string {
  return hashOf(raw);
}

/**
 * Returns the changed fields of a contact. A change in the signature of a URL does not count.
 * @param before the contact's last stored form as JSON, if known
 */
export function contactChanges(
  before: string | undefined,
  { raw }: Pick<UpstreamContact, 'raw'>,
): ContactChanges {
  const parsed: unknown = before === undefined ? {} : JSON.parse(before);
  const old = isRecord(parsed) ? parsed : {};
  const fields = [...new Set([...Object.keys(old), ...Object.keys(raw)])];
  const changed = fields.filter((field) => normalizedJson(old[field]) !== normalizedJson(raw[field]));
  return Object.fromEntries(
    changed.map((field) => [
      field,
      { ...(field in old ? { from: old[field] } : {}), ...(field in raw ? { to: raw[field] } : {}) },
    ]),
  );
}

/** Returns a 32-bit hash of a value. Signatures in URLs do not count. */
export function hashOfValue(value: unknown): number {
  return createHash('sha1').update(normalizedJson(value)).digest().readUInt32BE(0);
}

function normalizedJson(value: unknown): string {
  return canonicalJson(value, withoutSignature);
}

function without(raw: Raw, ignored: ReadonlySet<string>): Raw {
  if (ignored.size === 0) return raw;
  return Object.fromEntries(Object.entries(raw).filter(([field]) => !ignored.has(field)));
}

function hashOf(raw: Raw, textOf?: (text: string) => string): string {
  // Not `slice` of the full digest text: a slice keeps the whole text in memory, once per contact.
  return createHash('sha256').update(canonicalJson(raw, textOf)).digest().toString('hex', 0, 8);
}
