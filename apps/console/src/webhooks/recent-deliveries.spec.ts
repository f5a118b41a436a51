import { expect, it } from '@jest/globals';
import type { Delivery, DeliveryAttempt } from '#client';
import { summaryOf } from './recent-deliveries.js';

const ATTEMPT: DeliveryAttempt = {
  at: '2026-01-01T00:00:00.000Z',
  durationMs: 5,
  statusCode: 500,
  reply: '',
  error: null,
};

function delivery(status: Delivery['status'], tookMs: number | null, attempts = [ATTEMPT]): Delivery {
  return {
    id: 'dlv_1',
    webhookId: 'whk_1',
    eventId: 'evt_1',
    eventType: 'message.received',
    contactId: null,
    status,
    reason: null,
    attempts,
    createdAt: '2026-01-01T00:00:00.000Z',
    nextAttemptAt: null,
    blockedBy: null,
    finishedAt: tookMs === null ? null : new Date(Date.UTC(2026, 0, 1) + tookMs).toISOString(),
  };
}

it('the summary of deliveries leaves out pending deliveries without an attempt, counts missed deliveries as failed, and has the median delay of the successful deliveries', () => {
  expect(
    summaryOf([
      delivery('succeeded', 10),
      delivery('succeeded', 30),
      delivery('succeeded', 9_000),
      delivery('failed', 70_000),
      delivery('missed', 70_000, []),
      delivery('pending', null),
      delivery('pending', null, []),
    ]),
  ).toEqual({ count: 6, succeeded: 3, failed: 2, delayMs: 30 });
  expect(summaryOf([])).toEqual({ count: 0, succeeded: 0, failed: 0, delayMs: undefined });
});
