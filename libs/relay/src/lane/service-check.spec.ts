import { describe, expect, it } from '@jest/globals';
import { type ServiceCheckResult, checkServiceBeforePost } from './service-check.js';
import type { SendOrder, SendRecord, SendState } from '../send/send-record.js';

const NOW = 1_000_000;
/** Services by address: two addresses of one service, and one address of another service. */
const SERVICES = new Map([
  ['first', 'first'],
  ['moved', 'first'],
  ['other', 'other'],
]);

function checkOf(
  address: string | undefined,
  order: Partial<SendOrder>,
  state: Partial<SendState> = {},
  services: ReadonlyMap<string, string> = SERVICES,
): ServiceCheckResult {
  const record: SendRecord = {
    order: { id: 'snd_1', createdAt: NOW - 5, phoneNumber: '+15551234567', type: 'text', ...order },
    state: { status: 'queued', revision: 0, updatedAt: 0, attempts: [], refusals: 0, ...state },
  };
  return checkServiceBeforePost({ record, now: NOW, services }, address);
}

describe('checkServiceBeforePost', () => {
  it.each<[string, ServiceCheckResult, ServiceCheckResult]>([
    [
      'is posted to the upstream address for which the send was stored',
      checkOf('first', { upstream: 'first' }),
      'same_service',
    ],
    [
      'is posted to another address of the same service',
      checkOf('moved', { upstream: 'first' }),
      'same_service',
    ],
    ['is not posted to another service', checkOf('other', { upstream: 'first' }), 'other_service'],
    [
      'is posted to the address that the account had when the last resend was requested',
      checkOf('other', { upstream: 'first' }, { resentTo: 'other' }),
      'same_service',
    ],
    [
      'that an older build stored without an address is posted to the present address',
      checkOf('first', {}),
      'same_service',
    ],
    [
      'waits until a contact list was read from the present address',
      checkOf('new', { upstream: 'first' }),
      'unverified',
    ],
    [
      'that an older build stored waits until a contact list was read from the present address',
      checkOf('first', {}, {}, new Map()),
      'unverified',
    ],
    [
      'that was stored for an unknown address waits until every process can know that address',
      checkOf('first', { upstream: 'new' }),
      59_995,
    ],
    [
      'that was stored for an unknown address is posted to the present address after a minute',
      checkOf('first', { upstream: 'new', createdAt: NOW - 60_000 }),
      'same_service',
    ],
    [
      'that was resent to an unknown address waits for a minute after the resend',
      checkOf('first', { createdAt: 0 }, { resentTo: 'new', resentAt: NOW - 1_000 }),
      59_000,
    ],
    [
      'is posted without a check if the present address is not known',
      checkOf(undefined, { upstream: 'first' }),
      'same_service',
    ],
  ])(
    'decides whether a send may be posted to the present upstream address: a send %s',
    (_, actual, expected) => {
      expect(actual).toBe(expected);
    },
  );
});
