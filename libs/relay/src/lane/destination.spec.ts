import { describe, expect, it } from '@jest/globals';
import { type Destination, destinationOf } from './destination.js';
import type { SendOrder, SendRecord, SendState } from '../send/send-record.js';

const NOW = 1_000_000;
/** Two addresses of one service, and one of another. */
const SERVICES = new Map([
  ['first', 'first'],
  ['moved', 'first'],
  ['other', 'other'],
]);

function to(
  address: string | undefined,
  order: Partial<SendOrder>,
  state: Partial<SendState> = {},
  services: ReadonlyMap<string, string> = SERVICES,
): Destination {
  const record: SendRecord = {
    order: { id: 'snd_1', createdAt: NOW - 5, phoneNumber: '+15551234567', type: 'text', ...order },
    state: { status: 'queued', revision: 0, updatedAt: 0, attempts: [], refusals: 0, ...state },
  };
  return destinationOf({ record, now: NOW, services }, address);
}

describe('a send', () => {
  it.each<[string, Destination, Destination]>([
    ['goes to the address that it was accepted for', to('first', { upstream: 'first' }), 'here'],
    ['goes to another address of the same service', to('moved', { upstream: 'first' }), 'here'],
    ['does not go to another service', to('other', { upstream: 'first' }), 'elsewhere'],
    [
      'goes where it was told to go out to again',
      to('other', { upstream: 'first' }, { resentTo: 'other' }),
      'here',
    ],
    ['of an earlier build, which wrote no address, goes to the present one', to('first', {}), 'here'],
    ['waits until a list was read from the address', to('new', { upstream: 'first' }), 'unproven'],
    ['of an earlier build waits for that, too', to('first', {}, {}, new Map()), 'unproven'],
    ['for an address that others may be about to learn waits', to('first', { upstream: 'new' }), 59_995],
    [
      'that waited for a minute goes to the present address',
      to('first', { upstream: 'new', createdAt: NOW - 60_000 }),
      'here',
    ],
    [
      'that was told to go out again waits from then on',
      to('first', { createdAt: 0 }, { resentTo: 'new', resentAt: NOW - 1_000 }),
      59_000,
    ],
    ['goes anywhere where nothing is known of the address', to(undefined, { upstream: 'first' }), 'here'],
  ])('%s', (_, destination, expected) => {
    expect(destination).toBe(expected);
  });
});
