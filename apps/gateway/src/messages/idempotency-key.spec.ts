import { expect, it } from '@jest/globals';
import { readIdempotencyKey } from './idempotency-key.js';

it('the Idempotency-Key header is found in any letter case, even beside headers with names such as __proto__', () => {
  expect(readIdempotencyKey(['__proto__', 'x', 'IDEMPOTENCY-Key', 'k', 'constructor', 'y'])).toBe('k');
  expect(readIdempotencyKey(['X-Other', 'Idempotency-Key', '__proto__', 'x'])).toBeUndefined();
  expect(readIdempotencyKey([])).toBeUndefined();
});

it('a repeated Idempotency-Key header is rejected, whatever the letter case of its name', () => {
  expect(() => readIdempotencyKey(['Idempotency-Key', 'k', 'idempotency-key', 'k'])).toThrow(
    'must occur only once in the request',
  );
});
