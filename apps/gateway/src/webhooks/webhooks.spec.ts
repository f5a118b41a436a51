import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { json, OTHER_KEY, problemIn, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

let redis: TestRedis;
let gateway: TestGateway;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

const create = (body: unknown): Promise<Response> => gateway.fetch('/v1/webhooks', json(body));

describe('Webhooks', () => {
  it('are made, listed, read and removed; the secret is shown once', async () => {
    const url = 'https://example.com/hook';
    const made = await create({ url, eventTypes: ['message.*'], contactIds: ['c1'], description: 'mine' });
    const { secret, ...webhook } = (await made.json()) as { id: string; secret: string };
    expect(made.status).toBe(201);
    expect(secret).toMatch(/^whsec_/);
    expect(made.headers.get('location')).toBe(`/v1/webhooks/${webhook.id}`);
    expect(webhook).toMatchObject({ url, eventTypes: ['message.*'], contactIds: ['c1'], enabled: true });

    const path = `/v1/webhooks/${webhook.id}`;
    expect(await (await gateway.fetch(path)).json()).toEqual(webhook);
    expect(await (await gateway.fetch('/v1/webhooks')).json()).toEqual({ webhooks: [webhook] });
    expect((await gateway.fetch(path, { key: OTHER_KEY })).status).toBe(404);

    const removed = await gateway.fetch(path, { method: 'DELETE' });
    expect([removed.status, await removed.text()]).toEqual([204, '']);
    for (const method of ['GET', 'DELETE']) {
      expect(await problemIn(await gateway.fetch(path, { method }))).toMatchObject({ code: 'not_found' });
    }
  });

  it.each([
    ['url', {}],
    ['url', { url: 'example.com' }],
    ['url', { url: 'ftp://example.com' }],
    ['url', { url: 'https://private.example/' }],
    ['eventTypes', { url: 'https://example.com', eventTypes: ['message.unheard'] }],
    ['eventTypes', { url: 'https://example.com', eventTypes: [] }],
    ['eventTypes', { url: 'https://example.com', eventTypes: 'message.*' }],
    ['contactIds', { url: 'https://example.com', contactIds: [1] }],
    ['description', { url: 'https://example.com', description: 'x'.repeat(501) }],
    ['enabled', { url: 'https://example.com', enabled: 'yes' }],
    ['secret', { url: 'https://example.com', secret: 'mine' }],
  ])('are refused with a faulty %s: %j', async (field, body) => {
    const problem = await problemIn(await create(body));
    expect(problem).toMatchObject({ status: 400, code: 'validation_failed' });
    expect(problem.errors?.map((fault) => fault.field)).toEqual([field]);
  });
});
