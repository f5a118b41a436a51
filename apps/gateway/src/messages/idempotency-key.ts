import { invalid } from '../problems/problem.js';

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/**
 * The `Idempotency-Key` of a request, or undefined if it has none.
 * @throws {Problem} for a key that is empty, too long or not printable
 */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && PRINTABLE.test(header)) return header;
  throw invalid({ field: 'Idempotency-Key', message: 'must be 1 to 255 printable ASCII characters' });
}
