import { isRecord } from '#platform';

/**
 * Returns a value as JSON with sorted object keys, so that equal values give equal texts. The value
 * `undefined` gives the text `absent`, which is not JSON.
 * @param textOf returns the replacement of a string value; object keys are not replaced
 */
export function canonicalJson(value: unknown, textOf: (text: string) => string = unchanged): string {
  if (typeof value === 'string') return JSON.stringify(textOf(value));
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, textOf)).join(',')}]`;
  if (value === undefined) return 'absent';
  if (!isRecord(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key], textOf)}`).join(',')}}`;
}

const unchanged = (text: string): string => text;
