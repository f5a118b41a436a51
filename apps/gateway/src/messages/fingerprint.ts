import { createHash } from 'node:crypto';
import { isRecord } from '#upstream';
import type { NewSend } from '#relay';

/**
 * A digest of what a send asks for: the same for the same fields and the same file content, whatever the encoding,
 * the order of the fields, or the name under which the file came.
 */
export function fingerprintOf({ file, ...fields }: NewSend): string {
  const asked = { ...fields, ...(file === undefined ? {} : { file: file.sha256 }) };
  return createHash('sha256')
    .update(JSON.stringify(sorted(asked)))
    .digest('hex');
}

/** The value with the fields of all its objects in one order. Bodies are of bounded depth. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const fields = Object.keys(value).sort();
  return Object.fromEntries(fields.map((field) => [field, sorted(value[field])]));
}
