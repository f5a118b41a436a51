import { describe, expect, it } from '@jest/globals';
import type { Webhook } from '#client';
import { changesBetween, draftOf, valuesOf } from './webhook-draft.js';

const WEBHOOK: Webhook = {
  id: 'whk_1',
  url: 'https://example.com/hook',
  eventTypes: ['message.*', 'send.failed', 'later.type'],
  contactIds: ['con_1', 'con 2'],
  description: 'Orders',
  headers: { Authorization: 'Bearer a:b' },
  maxConcurrency: 3,
  rateLimitPerSecond: 0.5,
  ordered: true,
  enabled: false,
  disabledReason: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  failingSince: null,
  lastSuccessAt: null,
  pausedUntil: null,
  waitingSince: null,
  pending: 0,
};

describe('the form of a webhook', () => {
  it('has the values of the webhook if nothing was edited', () => {
    const { values, faults } = valuesOf(draftOf(WEBHOOK));
    expect(faults).toEqual({});
    const { url, eventTypes, contactIds, description, headers } = WEBHOOK;
    const { maxConcurrency, rateLimitPerSecond, ordered, enabled } = WEBHOOK;
    const limits = { maxConcurrency, rateLimitPerSecond, ordered, enabled };
    expect(values).toEqual({ url, eventTypes, contactIds, description, headers, ...limits });
  });

  it('changes only the fields that were edited', () => {
    const before = draftOf(WEBHOOK);
    const after = { ...before, headers: '', isEnabled: true };
    expect(changesBetween(valuesOf(before).values, valuesOf(after).values)).toEqual({
      headers: null,
      enabled: true,
    });
  });

  it('shows a fault for an invalid number or header, and if no event type is chosen', () => {
    const { faults } = valuesOf({
      ...draftOf(),
      maxConcurrency: 'three',
      headers: 'X-Team orders',
      eventTypes: { isAll: false, checked: [], others: ' ' },
    });
    expect(Object.keys(faults).sort()).toEqual(['eventTypes', 'headers', 'maxConcurrency']);
  });
});
