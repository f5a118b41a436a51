import { createHash } from 'node:crypto';
import { isRecord } from '#platform';
import type { NewSend } from '#relay';

/**
 * Returns a digest of a send request. Requests with the same fields and the same file content have the same digest. The
 * encoding, the order of the fields and the name of the file do not matter.
 */
export function fingerprintOf({ file, ...fields }: NewSend): string {
  const asked = { ...fields, ...(file === undefined ? {} : { file: file.sha256 }) };
  return createHash('sha256')
    .update(JSON.stringify(sorted(asked)))
    .digest('hex');
}

/** Returns the value with the keys of all objects sorted. Recursion is safe, because the depth of bodies is limited. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const fields = Object.keys(value).sort();
  return Object.fromEntries(fields.map((field) => [field, sorted(value[field])]));
}
