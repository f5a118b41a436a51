import { isRecord } from '#platform';
import { parseId } from './message.js';
import { findListInReply } from './reply-envelope.js';
import { parseJsonReply, quoteLongNumericIds } from './reply-json.js';
import { UpstreamReplyUnreadableError } from '../upstream-error.js';

/**
 * Converts a reply that contains a list to the JSON text of an object. The object has the list in the field given by
 * `listField`, and numeric ids become strings. All other fields keep their values. A reply that already has this form
 * is returned byte for byte.
 * @throws {UpstreamReplyUnreadableError} if the reply is not JSON or contains no list
 */
export function normalizeListReply(replyText: string, listField: string): string {
  const exact = quoteLongNumericIds(replyText);
  const body = parseJsonReply(exact);
  const { list, otherFields } = findListInReply(body, listField);
  if (list.some(hasOtherId)) return replyPartToJson({ ...otherFields, [listField]: list.map(withTextId) });
  if (list === body) return `{${JSON.stringify(listField)}:${exact}}`;
  if (isRecord(body) && body[listField] === list) return exact;
  return replyPartToJson({ ...otherFields, [listField]: list });
}

/**
 * Checks that a reply is JSON, and returns its text unchanged.
 * @throws {UpstreamReplyUnreadableError} if the text is not JSON
 */
export function requireValidJson(text: string): string {
  parseJsonReply(text);
  return text;
}

/**
 * Returns the contacts of a reply as a map from the contact's id to the contact. Numeric ids become text. Elements
 * without an id are left out. Of several contacts with the same id, only the first is returned.
 * @throws {UpstreamReplyUnreadableError} if the reply has no contact list
 */
export function parseContactsById(text: string): ReadonlyMap<string, unknown> {
  const { list } = findListInReply(parseJsonReply(text), 'contacts');
  const shown = new Map<string, unknown>();
  for (const contact of list.map(withTextId)) {
    if (isRecord(contact) && typeof contact.id === 'string' && !shown.has(contact.id))
      shown.set(contact.id, contact);
  }
  return shown;
}

/**
 * Converts a part of a reply to JSON text.
 * @throws {UpstreamReplyUnreadableError} if the part is nested too deeply for `JSON.stringify`
 */
export function replyPartToJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new UpstreamReplyUnreadableError('the reply is nested too deeply', { cause });
  }
}

function hasOtherId(element: unknown): boolean {
  return isRecord(element) && typeof element.id === 'number';
}

function withTextId(element: unknown): unknown {
  return isRecord(element) && hasOtherId(element) ? { ...element, id: parseId(element.id) } : element;
}
