import { expect, it } from '@jest/globals';
import { appendAttempt } from './send-record.js';
import type { SendAttempt } from './send.js';

it('a send keeps its newest 50 attempts, in order of time', () => {
  let attempts: SendAttempt[] = [];
  for (let n = 1; n <= 53; n++)
    attempts = appendAttempt(attempts, { at: '', outcome: 'not_taken', error: String(n) });
  expect(attempts.map(({ error }) => error)).toEqual(Array.from({ length: 50 }, (_, i) => String(i + 4)));
});
