import { isRecord } from '#platform';
import { parseId } from './message.js';

/** A contact from upstream's contact list. */
export interface UpstreamContact {
  /** Upstream's id of the contact, as text. */
  id: string;
  /** All fields of the contact, unchanged. */
  raw: Readonly<Record<string, unknown>>;
}

/**
 * Parses one element of a contact list. Returns undefined if the element is not an object or has no valid id; see
 * {@link parseId}.
 */
export function parseContact(value: unknown): UpstreamContact | undefined {
  if (!isRecord(value)) return undefined;
  const id = parseId(value.id);
  return id === undefined ? undefined : { id, raw: value };
}

const E164 = /^\+[1-9]\d{6,14}$/;

/** Returns the phone numbers of a contact: the values of its fields that have E.164 form. */
export function phoneNumbersOf(contact: UpstreamContact): string[] {
  return Object.values(contact.raw).filter(
    (value): value is string => typeof value === 'string' && E164.test(value),
  );
}
