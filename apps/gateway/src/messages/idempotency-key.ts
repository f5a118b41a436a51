import { invalid } from '../problems/problem.js';

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/**
 * The `Idempotency-Key` of a request, or undefined if it has none.
 * It is given as the values of each header of that name: Node joins them to one, which would pass for a key.
 * @throws {Problem} for a key that is empty, too long or not printable, and for more than one
 */
export function readIdempotencyKey(headers: readonly string[] = []): string | undefined {
  const [key, ...more] = headers;
  if (key === undefined) return undefined;
  if (more.length > 0) throw invalid({ field: 'Idempotency-Key', message: 'is given more than once' });
  if (PRINTABLE.test(key)) return key;
  throw invalid({ field: 'Idempotency-Key', message: 'must be 1 to 255 printable ASCII characters' });
}
