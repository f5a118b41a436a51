/** Of an endpoint's own headers. */
export const MOST_HEADERS = 20;
const LONGEST_NAME = 100;
const LONGEST_VALUE = 1_024;

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const PRINTABLE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** What a subscriber relies on, what frames the request, and what belongs to one connection alone. */
const NOT_ITS_OWN =
  /^(?:webhook-.*|content-.*|proxy-.*|host|user-agent|expect|connection|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;

/**
 * What is wrong with an endpoint's own headers, with the remedy; undefined if nothing is. It follows the field's name in
 * a sentence.
 */
export function headersFault(headers: unknown): string | undefined {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    return 'must be an object of header names and values, for example {"Authorization": "Bearer abc"}';
  }
  const entries = Object.entries(headers as Record<string, unknown>);
  if (entries.length > MOST_HEADERS) return `must be at most ${MOST_HEADERS} headers; leave some out`;
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const fault = headerFault(name, value);
    if (fault !== undefined) return fault;
    if (seen.has(name.toLowerCase())) return `name ${name} twice: headers know no upper and lower case`;
    seen.add(name.toLowerCase());
  }
  return undefined;
}

function headerFault(name: string, value: unknown): string | undefined {
  if (name.length > LONGEST_NAME || !TOKEN.test(name)) {
    return `have a name that is none: 1 to ${LONGEST_NAME} letters, digits and hyphens, for example X-Team`;
  }
  if (NOT_ITS_OWN.test(name)) return `must not set ${name}, which is not the subscriber's; leave it out`;
  if (typeof value !== 'string' || value.length > LONGEST_VALUE || !PRINTABLE.test(value)) {
    return `must give ${name} as text of 1 to ${LONGEST_VALUE} printable ASCII characters, without blanks around it`;
  }
  return undefined;
}
