import { createHash } from 'node:crypto';
import type { Principal } from '#accounts';
import { invalid } from '../problems/problem.js';

const HEADER = 'idempotency-key';
const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/**
 * Reads the `Idempotency-Key` of a request. Returns undefined if there is none.
 * @param rawHeaders alternating names and values. Node's parsed headers join repeated keys to one valid key, and
 * `headersDistinct` fails on Node.js 20.19 for a header named `__proto__`.
 * @throws {Problem} for a key that is empty, too long, not printable or repeated
 */
export function readIdempotencyKey(rawHeaders: readonly string[]): string | undefined {
  const [key, ...more] = rawHeaders.filter(
    (_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === HEADER,
  );
  if (key === undefined) return undefined;
  if (more.length > 0)
    throw invalid({ field: 'Idempotency-Key', message: 'must occur only once in the request' });
  if (PRINTABLE.test(key)) return key;
  throw invalid({ field: 'Idempotency-Key', message: 'must be 1 to 255 printable ASCII characters' });
}

/**
 * Returns the text under which a caller's idempotency key is stored. Tokens that are restricted to contacts use separate
 * idempotency keys for each API key and set of contacts. Their stored texts contain line breaks, so they differ from the
 * idempotency keys of other callers, which have only printable characters.
 */
export function storedKeyOf({ keyId, contactIds }: Principal, key: string): string {
  if (contactIds === undefined) return key;
  return ['contacts', keyId, contactSetOf(contactIds), key].join('\n');
}

/** Returns a text that stands for a set of contacts. */
export function contactSetOf(contactIds: ReadonlySet<string>): string {
  return createHash('sha256')
    .update(JSON.stringify([...contactIds].sort()))
    .digest('hex');
}
