import { expect, it } from '@jest/globals';
import { readIdempotencyKey } from './idempotency-key.js';

it('an idempotency key is found whatever the case of its name, and whatever other headers are called', () => {
  expect(readIdempotencyKey(['__proto__', 'x', 'IDEMPOTENCY-Key', 'k', 'constructor', 'y'])).toBe('k');
  expect(readIdempotencyKey(['X-Other', 'Idempotency-Key', '__proto__', 'x'])).toBeUndefined();
  expect(readIdempotencyKey([])).toBeUndefined();
});

it('an idempotency key that is given twice, in whichever case, is refused', () => {
  expect(() => readIdempotencyKey(['Idempotency-Key', 'k', 'idempotency-key', 'k'])).toThrow(
    'more than once',
  );
});
