import { describe, expect, it } from '@jest/globals';
import { type Destination, destinationOfSend } from './destination.js';
import type { SendOrder, SendRecord, SendState } from '../send/send-record.js';

const NOW = 1_000_000;
/** Services by address: two addresses of one service, and one address of another service. */
const SERVICES = new Map([
  ['first', 'first'],
  ['moved', 'first'],
  ['other', 'other'],
]);

function destination(
  address: string | undefined,
  order: Partial<SendOrder>,
  state: Partial<SendState> = {},
  services: ReadonlyMap<string, string> = SERVICES,
): Destination {
  const record: SendRecord = {
    order: { id: 'snd_1', createdAt: NOW - 5, phoneNumber: '+15551234567', type: 'text', ...order },
    state: { status: 'queued', revision: 0, updatedAt: 0, attempts: [], refusals: 0, ...state },
  };
  return destinationOfSend({ record, now: NOW, services }, address);
}

describe('a send', () => {
  it.each<[string, Destination, Destination]>([
    [
      'is posted to the upstream address for which the send was stored',
      destination('first', { upstream: 'first' }),
      'same_service',
    ],
    [
      'is posted to another address of the same service',
      destination('moved', { upstream: 'first' }),
      'same_service',
    ],
    ['is not posted to another service', destination('other', { upstream: 'first' }), 'other_service'],
    [
      'is posted to the address that the account had when the last resend was requested',
      destination('other', { upstream: 'first' }, { resentTo: 'other' }),
      'same_service',
    ],
    [
      'that an older build stored without an address is posted to the present address',
      destination('first', {}),
      'same_service',
    ],
    [
      'waits until a contact list was read from the present address',
      destination('new', { upstream: 'first' }),
      'unverified',
    ],
    [
      'that an older build stored waits until a contact list was read from the present address',
      destination('first', {}, {}, new Map()),
      'unverified',
    ],
    [
      'that was stored for an unknown address waits until every process can know that address',
      destination('first', { upstream: 'new' }),
      59_995,
    ],
    [
      'that was stored for an unknown address is posted to the present address after a minute',
      destination('first', { upstream: 'new', createdAt: NOW - 60_000 }),
      'same_service',
    ],
    [
      'that was resent to an unknown address waits for a minute after the resend',
      destination('first', { createdAt: 0 }, { resentTo: 'new', resentAt: NOW - 1_000 }),
      59_000,
    ],
    [
      'is posted without a check if the present address is not known',
      destination(undefined, { upstream: 'first' }),
      'same_service',
    ],
  ])('%s', (_, actual, expected) => {
    expect(actual).toBe(expected);
  });
});
