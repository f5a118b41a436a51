import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type LoggedEvent, RedisEventLog } from '#events';
import { TestDeliveryStore } from '../../../../test/contract/webhooks/test-delivery-store.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import {
  EMPTY_KEY,
  json,
  OTHER_KEY,
  problemOf,
  startTestGateway,
  type TestGateway,
} from '../fixtures/gateway.js';

const ACCOUNT = 'default';
const TERMS = { defaultConcurrency: 100, maxDeliveries: 100, leaseMs: 60_000 };
const ATTEMPT = {
  at: '2026-11-21T12:00:00.000Z',
  durationMs: 12,
  statusCode: 500,
  reply: 'no',
  error: null,
};

let redis: TestRedis;
let gateway: TestGateway;
let log: RedisEventLog;
let store: TestDeliveryStore;
let webhook: string;
let revision = 0;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
  log = new RedisEventLog(gateway.redis, 'tidings');
  store = new TestDeliveryStore(gateway.redis, 'tidings');
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

beforeEach(async () => {
  const made = await gateway.fetch('/v1/webhooks', json({ url: 'https://example.com/hook' }));
  webhook = ((await made.json()) as { id: string }).id;
});

interface Listed {
  deliveries: { id: string; eventId: string; status: string; webhookId: string }[];
  next: string | null;
  hasMore: boolean;
}
const body = async <T>(reply: Promise<Response>): Promise<T> => (await (await reply).json()) as T;
const list = (query = ''): Promise<Listed> =>
  body<Listed>(gateway.fetch(`/v1/webhooks/${webhook}/deliveries${query}`));
const post = (path: string, given?: unknown): Promise<Response> =>
  gateway.fetch(path, given === undefined ? { method: 'POST' } : json(given));

/** Creates events and their deliveries to the webhook. */
async function dispatched(count: number): Promise<LoggedEvent[]> {
  const end = await log.end(ACCOUNT);
  await log.append(
    ACCOUNT,
    Array.from({ length: count }, () => ({
      type: 'message.received' as const,
      contactId: 'c1',
      subject: 'message:m1',
      revision: ++revision,
      data: {},
    })),
  );
  const { events } = await log.read(ACCOUNT, end, count);
  await store.create(
    ACCOUNT,
    events.map((event) => ({ endpointId: webhook, event })),
  );
  return events;
}

async function failAll(): Promise<void> {
  const claimed = await store.claim(ACCOUNT, webhook, TERMS);
  if (claimed.kind === 'ended') throw new Error('the webhook is not enabled');
  for (const delivery of claimed.deliveries) {
    await store.settle(ACCOUNT, delivery, ATTEMPT, { status: 'failed', reason: 'The last attempt failed.' });
  }
}

describe('Deliveries', () => {
  it('of a webhook are listed newest first, page by page, and can be filtered by status', async () => {
    const failed = await dispatched(3);
    await failAll();
    const pending = await dispatched(2);
    const first = await list('?limit=4');
    expect([first.deliveries.length, first.hasMore]).toEqual([4, true]);
    const second = await list(`?limit=4&cursor=${String(first.next)}`);
    expect([second.deliveries.length, second.hasMore, second.next]).toEqual([1, false, null]);
    const all = [...first.deliveries, ...second.deliveries];
    expect(all.map(({ eventId }) => eventId)).toEqual([...failed, ...pending].map(({ id }) => id).reverse());
    expect(new Set(all.map(({ webhookId }) => webhookId))).toEqual(new Set([webhook]));
    expect((await list('?status=failed')).deliveries).toHaveLength(3);
    expect((await list('?status=pending')).deliveries).toHaveLength(2);
    expect((await list('?status=succeeded')).deliveries).toEqual([]);
  });

  it('can be listed for all webhooks together, filtered by status, time and webhook', async () => {
    const [event] = await dispatched(1);
    await failAll();
    const failed = async (query: string): Promise<Listed> =>
      body<Listed>(gateway.fetch(`/v1/deliveries?status=failed&limit=1${query}`));
    const [first] = (await failed('')).deliveries;
    expect(first).toMatchObject({ eventId: event?.id, webhookId: webhook });
    expect((await failed(`&webhookId=${webhook}`)).deliveries).toHaveLength(1);
    expect((await failed('&since=2020-01-01T00:00:00Z')).deliveries).toEqual([first]);
    expect((await failed('&since=2100-01-01T00:00:00Z')).deliveries).toEqual([]);
    expect((await gateway.fetch('/v1/deliveries?webhookId=whk_unknown')).status).toBe(404);
    const problem = await problemOf(await gateway.fetch('/v1/deliveries?since=yesterday'));
    expect(problem).toMatchObject({ status: 400, errors: [{ field: 'since' }] });
  });

  it('are counted as pending at the webhook; after they fail, the webhook has a failingSince time and is listed in the account status', async () => {
    await dispatched(2);
    const shown = (): Promise<Record<string, unknown>> => body(gateway.fetch(`/v1/webhooks/${webhook}`));
    expect(await shown()).toMatchObject({ pending: 2, failingSince: null, lastSuccessAt: null });
    await failAll();
    const { failingSince } = await shown();
    expect(failingSince).toMatch(/Z$/);
    const status = await body<{ deliveries: { failing: object[] } }>(gateway.fetch('/v1/status'));
    expect(status.deliveries.failing).toContainEqual({ webhookId: webhook, since: failingSince });
  });

  it('can be read one by one, with all attempts', async () => {
    const [event] = await dispatched(1);
    await failAll();
    const id = (await list()).deliveries[0]?.id;
    expect(await body(gateway.fetch(`/v1/deliveries/${String(id)}`))).toEqual({
      id,
      webhookId: webhook,
      eventId: event?.id,
      eventType: 'message.received',
      contactId: 'c1',
      status: 'failed',
      reason: 'The last attempt failed.',
      attempts: [ATTEMPT],
      createdAt: expect.any(String),
      nextAttemptAt: null,
      blockedBy: null,
      finishedAt: expect.any(String),
    });
  });

  it('can be filtered by event id, in the list of the webhook and in the list of all deliveries', async () => {
    const [event, other] = await dispatched(2);
    const found = async (path: string): Promise<string[]> => {
      const { deliveries } = await body<Listed>(gateway.fetch(path));
      return deliveries.map(({ eventId, webhookId }) => `${eventId} ${webhookId}`);
    };
    const expected = [`${event?.id} ${webhook}`];
    const query = `eventId=${event?.id}`;
    expect(await found(`/v1/deliveries?${query}`)).toEqual(expected);
    expect(await found(`/v1/deliveries?${query}&webhookId=${webhook}&status=pending`)).toEqual(expected);
    expect(await found(`/v1/deliveries?${query}&status=failed`)).toEqual([]);
    expect(await found(`/v1/webhooks/${webhook}/deliveries?${query}`)).toEqual(expected);
    expect(await found(`/v1/deliveries?eventId=evt_unknown`)).toEqual([]);
    // Another webhook gets the other event.
    const made = await body<{ id: string }>(
      gateway.fetch('/v1/webhooks', json({ url: 'https://example.com/second' })),
    );
    expect((await post(`/v1/webhooks/${made.id}/deliveries`, { eventId: other?.id })).status).toBe(202);
    const first = await body<Listed>(gateway.fetch(`/v1/deliveries?eventId=${other?.id}&limit=1`));
    expect(first).toMatchObject({ deliveries: [{ webhookId: made.id }], hasMore: true });
    const path = `/v1/deliveries?eventId=${other?.id}&limit=1&cursor=${String(first.next)}`;
    expect(await body(gateway.fetch(path))).toMatchObject({
      ...{ deliveries: [{ webhookId: webhook }], hasMore: false, next: null },
    });
  });

  it('can be created by a request for one stored event, even if the filter of the webhook excludes the event', async () => {
    const path = `/v1/webhooks/${webhook}`;
    await gateway.fetch(path, { ...json({ eventTypes: ['send.*'] }), method: 'PATCH' });
    await log.append(ACCOUNT, [
      { type: 'contact.created', contactId: 'c1', subject: 'x', revision: ++revision, data: {} },
    ]);
    const event = (await log.read(ACCOUNT, undefined, 1_000)).events.at(-1);
    const request = (eventId?: string): Promise<Response> => post(`${path}/deliveries`, { eventId });
    const reply = await request(event?.id);
    expect(reply.status).toBe(202);
    const delivery = (await reply.json()) as { id: string };
    expect(delivery).toMatchObject({
      ...{ webhookId: webhook, eventId: event?.id, eventType: 'contact.created', contactId: 'c1' },
      ...{ status: 'pending', attempts: [] },
    });
    await failAll();
    expect(await (await request(event?.id)).json()).toMatchObject({
      ...{ id: delivery.id, status: 'pending', attempts: [ATTEMPT] },
    });
    const unknown = await problemOf(await request('evt_unknown'));
    expect(unknown).toMatchObject({ status: 404, detail: 'The event evt_unknown was not found.' });
    const nowhere = await problemOf(await post('/v1/webhooks/whk_none/deliveries', { eventId: event?.id }));
    expect(nowhere).toMatchObject({ status: 404, detail: 'The webhook whk_none was not found.' });
    expect(await problemOf(await request())).toMatchObject({ status: 400, errors: [{ field: 'eventId' }] });
    await gateway.fetch(path, { ...json({ enabled: false }), method: 'PATCH' });
    const refused = await problemOf(await request(event?.id));
    expect(refused).toMatchObject({ status: 409, code: 'conflict' });
    expect(refused.detail).toMatch(/disabled.*PATCH it/);
  });

  it('can be retried while pending or after a failure; a failed delivery becomes pending again', async () => {
    await dispatched(1);
    const id = String((await list()).deliveries[0]?.id);
    const retry = (): Promise<Response> => post(`/v1/deliveries/${id}/retry`);
    expect((await retry()).status).toBe(202);
    await failAll();
    const retried = await retry();
    expect(retried.status).toBe(202);
    expect(await retried.json()).toMatchObject({ id, status: 'pending', reason: null, attempts: [ATTEMPT] });
    expect((await retry()).status).toBe(202);
  });

  it('cannot be retried if their event or webhook was removed, or while the webhook is disabled', async () => {
    const [event] = await dispatched(1);
    await failAll();
    const id = String((await list()).deliveries[0]?.id);
    const refusal = async (): Promise<string> => {
      const problem = await problemOf(await post(`/v1/deliveries/${id}/retry`));
      expect(problem).toMatchObject({ status: 409, code: 'conflict' });
      return problem.detail;
    };
    const path = `/v1/webhooks/${webhook}`;
    await gateway.fetch(path, { ...json({ enabled: false }), method: 'PATCH' });
    expect(await refusal()).toMatch(/disabled.*PATCH it/);
    await gateway.fetch(path, { ...json({ enabled: true }), method: 'PATCH' });
    await gateway.redis.xdel('tidings:{default}:events', String(event?.position));
    expect(await refusal()).toMatch(/event evt_\w+ was removed from the log/);
    await gateway.fetch(path, { method: 'DELETE' });
    expect(await refusal()).toMatch(/webhook of this delivery was removed/);
    expect(await problemOf(await gateway.fetch(`${path}/deliveries`))).toMatchObject({ status: 404 });
  });

  it('can be replayed: the response is 202 with the number of replayed deliveries', async () => {
    await dispatched(3);
    await failAll();
    const since = new Date(0).toISOString();
    const replay = (request: object): Promise<Response> => post(`/v1/webhooks/${webhook}/replay`, request);
    const counted = await replay({ since, dryRun: true });
    expect([counted.status, await counted.json()]).toEqual([202, { count: 3 }]);
    expect((await list('?status=pending')).deliveries).toEqual([]);
    const reply = await replay({ since, dryRun: false });
    expect([reply.status, await reply.json()]).toEqual([202, { count: 3 }]);
    expect(await (await replay({ since, dryRun: true })).json()).toEqual({ count: 0 });
    expect(await (await replay({ since })).json()).toEqual({ count: 0 });
    await failAll();
    expect(await (await replay({ since, eventTypes: ['contact.*'] })).json()).toEqual({ count: 0 });
    expect(await (await replay({ since, until: '1980-01-01T00:00:00Z', only: 'all' })).json()).toEqual({
      count: 0,
    });
    for (const [field, request] of [
      ['since', {}],
      ['since', { since: 'yesterday' }],
      ['until', { since, until: 'now' }],
      ['until', { since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' }],
      ['eventTypes', { since, eventTypes: ['message.unheard'] }],
      ['only', { since, only: 'some' }],
      ['dryRun', { since, dryRun: 'yes' }],
    ] as const) {
      expect(await problemOf(await replay(request))).toMatchObject({ status: 400, errors: [{ field }] });
    }
    await gateway.fetch(`/v1/webhooks/${webhook}`, { ...json({ enabled: false }), method: 'PATCH' });
    expect(await problemOf(await replay({ since, dryRun: true }))).toMatchObject({ status: 409 });
    const refused = await problemOf(await replay({ since }));
    expect(refused).toMatchObject({ status: 409, code: 'conflict' });
    expect(refused.detail).toMatch(/disabled.*PATCH it/);
  });

  it('cannot be listed with invalid parameters', async () => {
    for (const [field, value] of [
      ['status', 'done'],
      ['limit', '0'],
      ['limit', '101'],
      ['cursor', 'abc'],
      ['eventId', ''],
      ['cursor', Buffer.from('sends/3').toString('base64url')],
      ['order', 'asc'],
    ]) {
      const query = new URLSearchParams({ [String(field)]: String(value) }).toString();
      const problem = await problemOf(await gateway.fetch(`/v1/webhooks/${webhook}/deliveries?${query}`));
      expect(problem).toMatchObject({ status: 400, errors: [{ field }] });
    }
  });

  it('are accessible only with an API key that belongs to their account and may manage webhooks', async () => {
    const [event] = await dispatched(1);
    const bodyOf = (address: string): object | undefined => {
      if (address.endsWith('replay')) return { since: '2026-01-01T00:00:00Z' };
      return address.endsWith('deliveries') ? { eventId: event?.id } : undefined;
    };
    const delivery = `/v1/deliveries/${String((await list()).deliveries[0]?.id)}`;
    for (const [method, address] of [
      ['GET', `/v1/webhooks/${webhook}/deliveries`],
      ['POST', `/v1/webhooks/${webhook}/deliveries`],
      ['POST', `/v1/webhooks/${webhook}/replay`],
      ['GET', delivery],
      ['POST', `${delivery}/retry`],
    ] as const) {
      const as = async (key: string | null): Promise<string> => {
        const given = method === 'POST' ? bodyOf(address) : undefined;
        const request = given === undefined ? { method } : json(given);
        return (await problemOf(await gateway.fetch(address, { ...request, key }))).code;
      };
      expect([address, await as(OTHER_KEY), await as(EMPTY_KEY), await as(null)]).toEqual([
        address,
        'not_found',
        'forbidden',
        'unauthenticated',
      ]);
    }
  });
});
