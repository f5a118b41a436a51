/** Max number of additional headers that can be configured for a webhook. */
export const MAX_CUSTOM_HEADERS = 20;
const MAX_NAME_LENGTH = 100;
const MAX_VALUE_LENGTH = 1_024;

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const PRINTABLE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** Headers that Tidings or its HTTP client sets. */
const RESERVED =
  /^(?:webhook-.*|content-.*|proxy-.*|host|user-agent|expect|connection|keep-alive|te|trailer|transfer-encoding|upgrade|traceparent)$/i;

/**
 * Returns true for a header that only Tidings may set. Callers cannot configure such a header. If an earlier build
 * stored such a header, the header is ignored.
 */
export function isReservedHeader(name: string): boolean {
  return RESERVED.test(name);
}

/**
 * Returns what is wrong with the headers configured for a webhook, or undefined if they are valid. The text continues a
 * sentence that starts with the field's name, `headers`.
 */
export function describeInvalidHeaders(headers: unknown): string | undefined {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    return 'must be an object of header names and values, for example {"Authorization": "Bearer abc"}';
  }
  const entries = Object.entries(headers as Record<string, unknown>);
  if (entries.length > MAX_CUSTOM_HEADERS)
    return `must contain at most ${MAX_CUSTOM_HEADERS} headers; remove some`;
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const fault = headerError(name, value);
    if (fault !== undefined) return fault;
    if (seen.has(name.toLowerCase()))
      return `must not contain ${name} twice; header names are case-insensitive`;
    seen.add(name.toLowerCase());
  }
  return undefined;
}

function headerError(name: string, value: unknown): string | undefined {
  if (name.length > MAX_NAME_LENGTH || !TOKEN.test(name)) {
    return `must have valid names: 1 to ${MAX_NAME_LENGTH} letters, digits and hyphens, for example X-Team`;
  }
  if (isReservedHeader(name)) return `must not set ${name}, which Tidings reserves; remove this header`;
  if (typeof value !== 'string' || value.length > MAX_VALUE_LENGTH || !PRINTABLE.test(value)) {
    return `must set ${name} to 1 to ${MAX_VALUE_LENGTH} printable ASCII characters, without spaces at either end`;
  }
  return undefined;
}
