import { createHash } from 'node:crypto';
import { isRecord } from '#platform';
import type { UpstreamContact } from '#upstream';
import { canonicalJson } from './canonical-json.js';
import { removeUrlSignature } from './signed-url.js';

type Raw = UpstreamContact['raw'];

/**
 * The changed fields of a contact by name, each with its old value (`from`) and its new value (`to`). `from`
 * is absent if the field is new. `to` is absent if the field was removed.
 */
export type ContactChanges = Record<string, { from?: unknown; to?: unknown }>;

const NO_FIELDS: ReadonlySet<string> = new Set();

/**
 * Returns a 64-bit hash of a contact's fields, in hexadecimal. Signatures in URLs are left out, so that a new
 * signature does not change the hash.
 * @param ignored names of top-level fields that are left out as well
 */
export function contactFingerprintOf(
  { raw }: Pick<UpstreamContact, 'raw'>,
  ignored: ReadonlySet<string> = NO_FIELDS,
): string {
  return hashOf(without(raw, ignored), removeUrlSignature);
}

/**
 * Returns the hash of a contact's fields as older builds of Tidings stored it: signatures in URLs are
 * included. If no URL is signed, the result equals that of {@link contactFingerprintOf}.
 */
export function contactFingerprintIncludingUrlSignatures({ raw }: Pick<UpstreamContact, 'raw'>): string {
  return hashOf(raw);
}

/**
 * Returns the fields of a contact that changed, each with its old and new value. A field does not count as
 * changed if only the signature of a URL in it differs.
 * @param before the contact as last stored, in JSON; if undefined, every field counts as new
 */
export function diffContactFields(
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

/**
 * Returns a 32-bit hash of a JSON value. Signatures in URLs are left out, so that a new signature does not
 * change the hash.
 */
export function hashOfJsonValue(value: unknown): number {
  return createHash('sha1').update(normalizedJson(value)).digest().readUInt32BE(0);
}

function normalizedJson(value: unknown): string {
  return canonicalJson(value, removeUrlSignature);
}

function without(raw: Raw, ignored: ReadonlySet<string>): Raw {
  if (ignored.size === 0) return raw;
  return Object.fromEntries(Object.entries(raw).filter(([field]) => !ignored.has(field)));
}

function hashOf(raw: Raw, textOf?: (text: string) => string): string {
  // Only the first 8 bytes of the digest are converted to text. A `slice` of the whole text would keep the
  // whole text in memory for each contact.
  return createHash('sha256').update(canonicalJson(raw, textOf)).digest().toString('hex', 0, 8);
}
