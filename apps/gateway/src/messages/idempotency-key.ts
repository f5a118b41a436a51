import { invalid } from '../problems/problem.js';

const HEADER = 'idempotency-key';
const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/**
 * The `Idempotency-Key` of a request, or undefined if it has none.
 * @param rawHeaders names and values in turn, as they came: Node joins two keys to one, which would pass for a key, and
 * its own list of distinct headers breaks on Node.js 20.19 where one is called `__proto__`
 * @throws {Problem} for a key that is empty, too long or not printable, and for more than one
 */
export function readIdempotencyKey(rawHeaders: readonly string[]): string | undefined {
  const [key, ...more] = rawHeaders.filter(
    (_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === HEADER,
  );
  if (key === undefined) return undefined;
  if (more.length > 0) throw invalid({ field: 'Idempotency-Key', message: 'is given more than once' });
  if (PRINTABLE.test(key)) return key;
  throw invalid({ field: 'Idempotency-Key', message: 'must be 1 to 255 printable ASCII characters' });
}
