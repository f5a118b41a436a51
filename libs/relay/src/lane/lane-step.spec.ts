import { describe, expect, it } from '@jest/globals';
import { type LaneStep, nextLaneStep } from './lane-step.js';
import type { LaneHead } from '../send/lane-store.js';
import type { SendOrder, SendState } from '../send/send-record.js';

const NOW = 1_000_000;
const MAX_AGE = 10_000;
const TOO_OLD = 'The send could not be relayed within SEND_MAX_AGE_SECONDS.';
const PAST_EXPIRES_AT = 'The send could not be relayed before its expiresAt.';

function stepOf(
  state: Partial<SendState>,
  order: Partial<SendOrder> = {},
  head: Partial<LaneHead> = {},
  address?: string,
): LaneStep {
  return nextLaneStep(
    {
      now: NOW,
      services: new Map(),
      ...head,
      record: {
        order: { id: 'snd_1', createdAt: NOW - 1, phoneNumber: '+15551234567', type: 'text', ...order },
        state: { status: 'queued', revision: 0, updatedAt: 0, attempts: [], refusals: 0, ...state },
      },
    },
    MAX_AGE,
    address,
  );
}

describe('the first send in a lane', () => {
  it.each<[string, Partial<SendState>, Partial<SendOrder>, LaneStep]>([
    ['is posted if queued', {}, {}, { kind: 'post' }],
    ['is posted if queued and its wait just ended', { notBefore: NOW }, {}, { kind: 'post' }],
    [
      "is posted if queued and Redis' clock was set back during its wait",
      { begunAt: NOW + 60_000, updatedAt: NOW + 60_000, notBefore: NOW + 60_005 },
      {},
      { kind: 'post' },
    ],
    [
      "waits if its wait was stored after Redis' clock was set back, even if its last POST and look-up seem to be in the future",
      { begunAt: NOW + 60_000, lookedAt: NOW + 60_000, updatedAt: NOW, notBefore: NOW + 5 },
      {},
      { kind: 'wait', ms: 5 },
    ],
    ['waits if queued and its wait has not ended', { notBefore: NOW + 5 }, {}, { kind: 'wait', ms: 5 }],
    [
      'waits only until its maximum age if its wait is longer',
      { notBefore: NOW + 99_999 },
      {},
      { kind: 'wait', ms: MAX_AGE - 1 },
    ],
    ['expires at its maximum age', {}, { createdAt: NOW - MAX_AGE }, { kind: 'expire', reason: TOO_OLD }],
    [
      'is posted if just younger than its maximum age',
      {},
      { createdAt: NOW - MAX_AGE + 1 },
      { kind: 'post' },
    ],
    ['expires at its expiresAt', {}, { expiresAt: NOW }, { kind: 'expire', reason: PAST_EXPIRES_AT }],
    ['is posted before its expiresAt', {}, { expiresAt: NOW + 1 }, { kind: 'post' }],
    [
      'expires at its expiresAt even if its wait has not ended',
      { notBefore: NOW + 9 },
      { expiresAt: NOW },
      { kind: 'expire', reason: PAST_EXPIRES_AT },
    ],
    [
      'waits at most until its expiresAt',
      { notBefore: NOW + 9 },
      { expiresAt: NOW + 2 },
      { kind: 'wait', ms: 2 },
    ],
    [
      'is posted if its sendAt is recent, whatever its createdAt',
      {},
      { createdAt: 0, sendAt: NOW - 1 },
      { kind: 'post' },
    ],
    [
      'expires if its sendAt is older than the maximum age',
      {},
      { createdAt: 0, sendAt: NOW - MAX_AGE },
      { kind: 'expire', reason: TOO_OLD },
    ],
    [
      'waits while the lease of its POST is valid',
      { status: 'relaying', phase: 'posting', notBefore: NOW + 7 },
      {},
      { kind: 'wait', ms: 7 },
    ],
    [
      'is recovered if the lease of its POST expired',
      { status: 'relaying', phase: 'posting', notBefore: NOW },
      {},
      { kind: 'recover' },
    ],
    [
      'is recovered if its status is relaying and it has no phase',
      { status: 'relaying' },
      {},
      { kind: 'recover' },
    ],
    [
      'waits between two look-ups of the send',
      { status: 'relaying', phase: 'looking', notBefore: NOW + 7 },
      {},
      { kind: 'wait', ms: 7 },
    ],
    [
      'is looked up when its next look-up is due',
      { status: 'relaying', phase: 'looking', notBefore: NOW },
      {},
      { kind: 'look_up' },
    ],
    [
      'does not expire while it is being looked up',
      { status: 'relaying', phase: 'looking' },
      { expiresAt: 1 },
      { kind: 'look_up' },
    ],
  ])('%s', (_, state, order, step) => {
    expect(stepOf(state, order)).toEqual(step);
  });

  it.each([
    'scheduled',
    'accepted',
    'sent',
    'delivered',
    'read',
    'unknown',
    'failed',
    'cancelled',
    'expired',
  ] as const)('is removed from the lane, and never posted, if its status is %s', (status) => {
    expect(stepOf({ status })).toEqual({ kind: 'remove_from_lane' });
    expect(stepOf({ status, phase: 'posting', notBefore: NOW + 9 }, { expiresAt: 1 })).toEqual({
      kind: 'remove_from_lane',
    });
  });

  it('that was queued before a Redis restart is looked up at upstream before it is posted or expires', () => {
    const head = { redisRestartedAt: NOW - 1 };
    expect(stepOf({}, {}, head)).toEqual({ kind: 'recheck' });
    expect(stepOf({ notBefore: NOW + 5 }, {}, head)).toEqual({ kind: 'wait', ms: 5 });
    expect(stepOf({}, { expiresAt: NOW }, head)).toEqual({ kind: 'recheck' });
    expect(stepOf({ notBefore: NOW + 5 }, { createdAt: NOW - MAX_AGE }, head)).toEqual({ kind: 'recheck' });
  });

  it('is ended by the service check, not by its expiry, if it was queued for another service before a Redis restart', () => {
    const services = new Map([
      ['stored', 'service 1'],
      ['current', 'service 2'],
    ]);
    const order = { upstream: 'stored', expiresAt: NOW };
    expect(stepOf({}, order, { redisRestartedAt: NOW - 1, services }, 'current')).toEqual({
      kind: 'wrong_service',
    });
  });
});
