import { expect, it } from '@jest/globals';
import { messageFingerprintIncludingUrlSignatures } from '../form/fingerprint.js';
import { type KnownMessage, mayFlagsStillChange } from '../snapshot/known-message.js';
import { messageFlagCheckIntervalMs } from './flag-check-interval.js';

const HOUR = 3_600_000;
const MESSAGE: KnownMessage = {
  ...{ direction: 'outbound', deleted: false, revision: 1, timestamp: 1e12 },
  ...{ delivered: false, read: false, deliveredEmitted: false, readEmitted: false },
  fingerprint: messageFingerprintIncludingUrlSignatures({ raw: { id: 'm' } }),
};

it.each([
  [-1_000 * HOUR, HOUR],
  [-HOUR, HOUR / 4],
  [0, 10_000],
  [HOUR, HOUR / 4],
  [1_000 * HOUR, HOUR],
])(
  'the flags of a message that is %d ms old are checked again after %d ms (negative age: timestamp in the future)',
  (age, interval) => {
    expect(messageFlagCheckIntervalMs(age)).toBe(interval);
  },
);

it.each([
  [-25 * HOUR, false],
  [-23 * HOUR, true],
  [23 * HOUR, true],
  [25 * HOUR, false],
])(
  'the check whether the flags of a message that is %d ms old may still change (age limit: 24 hours) returns %s',
  (age, mayChange) => {
    expect(mayFlagsStillChange(MESSAGE, 1e12 + age, 24 * HOUR)).toBe(mayChange);
  },
);
