import { describe, expect, it } from '@jest/globals';
import { type LaneStep, nextStep } from './lane-step.js';
import type { LaneHead } from '../send/relay-store.js';
import type { SendOrder, SendState } from '../send/send-record.js';

const NOW = 1_000_000;
const MAX_AGE = 10_000;
const AGE = 'It could not be relayed within SEND_MAX_AGE_SECONDS.';
const END = 'It could not be relayed before its expiresAt.';

function stepOf(
  state: Partial<SendState>,
  order: Partial<SendOrder> = {},
  head: Partial<LaneHead> = {},
  address?: string,
): LaneStep {
  return nextStep(
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

describe('the head of a lane', () => {
  it.each<[string, Partial<SendState>, Partial<SendOrder>, LaneStep]>([
    ['queued: is posted', {}, {}, { kind: 'post' }],
    ['queued, its wait just over: is posted', { notBefore: NOW }, {}, { kind: 'post' }],
    ['queued, to wait: waits', { notBefore: NOW + 5 }, {}, { kind: 'wait', ms: 5 }],
    [
      'to wait beyond its end: waits for that',
      { notBefore: NOW + 99_999 },
      {},
      { kind: 'wait', ms: MAX_AGE - 1 },
    ],
    ['as old as may be: expires', {}, { createdAt: NOW - MAX_AGE }, { kind: 'expire', reason: AGE }],
    ['a moment younger: is posted', {}, { createdAt: NOW - MAX_AGE + 1 }, { kind: 'post' }],
    ['at its expiresAt: expires', {}, { expiresAt: NOW }, { kind: 'expire', reason: END }],
    ['before its expiresAt: is posted', {}, { expiresAt: NOW + 1 }, { kind: 'post' }],
    [
      'to wait, but over: expires',
      { notBefore: NOW + 9 },
      { expiresAt: NOW },
      { kind: 'expire', reason: END },
    ],
    [
      'waits no longer than to its expiresAt',
      { notBefore: NOW + 9 },
      { expiresAt: NOW + 2 },
      { kind: 'wait', ms: 2 },
    ],
    [
      'of long ago, for now: its age counts from sendAt',
      {},
      { createdAt: 0, sendAt: NOW - 1 },
      { kind: 'post' },
    ],
    [
      'sendAt too long ago: expires',
      {},
      { createdAt: 0, sendAt: NOW - MAX_AGE },
      { kind: 'expire', reason: AGE },
    ],
    [
      'being posted: is waited for',
      { status: 'relaying', phase: 'posting', notBefore: NOW + 7 },
      {},
      { kind: 'wait', ms: 7 },
    ],
    [
      'left in posting: is recovered',
      { status: 'relaying', phase: 'posting', notBefore: NOW },
      {},
      { kind: 'recover' },
    ],
    ['relaying without a phase: is recovered', { status: 'relaying' }, {}, { kind: 'recover' }],
    [
      'between looks: waits',
      { status: 'relaying', phase: 'looking', notBefore: NOW + 7 },
      {},
      { kind: 'wait', ms: 7 },
    ],
    [
      'looked for: is looked for again',
      { status: 'relaying', phase: 'looking', notBefore: NOW },
      {},
      { kind: 'look' },
    ],
    [
      'looked for beyond its end: never expires',
      { status: 'relaying', phase: 'looking' },
      { expiresAt: 1 },
      { kind: 'look' },
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
  ] as const)('that is %s does not belong there, and is never posted', (status) => {
    expect(stepOf({ status })).toEqual({ kind: 'leave' });
    expect(stepOf({ status, phase: 'posting', notBefore: NOW + 9 }, { expiresAt: 1 })).toEqual({
      kind: 'leave',
    });
  });

  it('queued before Redis may have lost something: is looked for before it is posted, and may expire all the same', () => {
    const head = { redisRestartedAt: NOW - 1 };
    expect(stepOf({}, {}, head)).toEqual({ kind: 'doubt' });
    expect(stepOf({ notBefore: NOW + 5 }, {}, head)).toEqual({ kind: 'wait', ms: 5 });
    expect(stepOf({}, { expiresAt: NOW }, head)).toEqual({ kind: 'expire', reason: END });
  });
});
