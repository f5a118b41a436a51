import { isRecord } from '#upstream';

/**
 * Returns JSON with sorted object keys: equal values give equal texts.
 * @param textOf replaces each string value; object keys stay as they are
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
