import { UpstreamReplyUnreadableError } from '../upstream-error.js';

/** Parses the JSON of one element of a list. @throws {UpstreamReplyUnreadableError} if `json` is not JSON */
export function parseListElement(json: Buffer): unknown {
  return parseJsonReply(json.toString());
}

/**
 * Matches an id that is a JSON number of 16 or more digits. A number above 2^53 would lose digits in parsing,
 * so that two ids could become equal. The pattern cannot match inside a string, because quotes are escaped
 * there.
 */
const LONG_NUMERIC_ID = /"id"(\s*:\s*)(-?\d{16,})(?=\s*[,}])/g;

/**
 * Returns the text of a reply with long numeric ids turned into strings, so that no digit is lost in parsing.
 */
export function quoteLongNumericIds(text: string): string {
  return text.replace(LONG_NUMERIC_ID, '"id"$1"$2"');
}

/**
 * Parses a reply or a part of a reply. Long numeric ids become strings, so that no digit is lost.
 * @throws {UpstreamReplyUnreadableError} if `text` is not JSON
 */
export function parseJsonReply(text: string): unknown {
  try {
    return JSON.parse(quoteLongNumericIds(text));
  } catch {
    throw new UpstreamReplyUnreadableError('the reply is not JSON');
  }
}
