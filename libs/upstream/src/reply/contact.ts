import { isRecord, parseId } from './message.js';

/** A contact as upstream shows it. */
export interface UpstreamContact {
  /** Upstream's id, as text. */
  id: string;
  /** Everything upstream said, untouched. */
  raw: Readonly<Record<string, unknown>>;
}

/** Reads one element of a contact list, or undefined if it has no id to know it by. */
export function parseContact(value: unknown): UpstreamContact | undefined {
  if (!isRecord(value)) return undefined;
  const id = parseId(value.id);
  return id === undefined ? undefined : { id, raw: value };
}

const E164 = /^\+[1-9]\d{6,14}$/;

/** The phone numbers that stand in a contact's fields, in E.164 form. */
export function phoneNumbersOf(contact: UpstreamContact): string[] {
  return Object.values(contact.raw).filter(
    (value): value is string => typeof value === 'string' && E164.test(value),
  );
}
