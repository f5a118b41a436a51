import { isRecord } from '#platform';
import { UpstreamReplyUnreadableError } from '../upstream-error.js';

/** Usual names of the reply's field that contains the list. The reply may also be the list itself. */
const ENVELOPES = ['data', 'items', 'results'];

/**
 * A list in a reply. The list may be nested in one or two objects. `otherFields`: the remaining fields of these
 * objects.
 */
interface FoundList {
  list: unknown[];
  otherFields: Readonly<Record<string, unknown>>;
}

/** Returns the names of the fields in which {@link findListInReply} finds a list. */
export function listFieldsOf(name: string): readonly string[] {
  return [name, ...ENVELOPES];
}

/**
 * Finds the list in a parsed reply. The list is the reply itself, or is in a field of the reply whose name is `name`
 * or one of {@link ENVELOPES}. If that field contains an object, the list is in the field `name` of this object.
 * @throws {UpstreamReplyUnreadableError} if there is no list
 */
export function findListInReply(body: unknown, name: string): FoundList {
  if (isList(body)) return { list: body, otherFields: {} };
  if (isRecord(body)) {
    for (const envelope of listFieldsOf(name)) {
      const { [envelope]: inner, ...otherFields } = body;
      if (isList(inner)) return { list: inner, otherFields };
      if (!isRecord(inner)) continue;
      const { [name]: list, ...further } = inner;
      if (isList(list)) return { list, otherFields: { ...otherFields, ...further } };
    }
  }
  throw new UpstreamReplyUnreadableError(`the reply holds no list of ${name}`);
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}
