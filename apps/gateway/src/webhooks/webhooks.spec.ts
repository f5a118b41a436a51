import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FastifyReply } from 'fastify';
import type { Principal } from '#accounts';
import { DeadlineError } from '#platform';
import { type EndpointRegistry, HEALTH_OF_NEW_ENDPOINT } from '#webhooks';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import {
  EMPTY_KEY,
  json,
  KEY,
  OTHER_KEY,
  problemOf,
  startTestGateway,
  type TestGateway,
} from '../fixtures/gateway.js';
import { WebhooksController } from './webhooks.controller.js';
import type { CreateWebhookDto } from './webhooks.dto.js';

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
const URL_OF_MINE = 'https://example.com/hook';

interface Made {
  id: string;
  secret: string;
  path: string;
}

async function made(body: object = {}): Promise<Made> {
  const response = await create({ url: URL_OF_MINE, ...body });
  const { id, secret } = (await response.json()) as Omit<Made, 'path'>;
  return { id, secret, path: `/v1/webhooks/${id}` };
}
const patch = (path: string, body: unknown): Promise<Response> =>
  gateway.fetch(path, { ...json(body), method: 'PATCH' });
const read = async (path: string): Promise<object> => (await (await gateway.fetch(path)).json()) as object;
const post = (path: string, body?: unknown): Promise<Response> =>
  gateway.fetch(path, body === undefined ? { method: 'POST' } : json(body));

describe('Webhooks of an account', () => {
  it('can be created, listed, read and deleted; only the response to the creation contains the secret', async () => {
    const url = 'https://example.com/hook';
    const made = await create({ url, eventTypes: ['message.*'], contactIds: ['c1'], description: 'mine' });
    expect(made.headers.get('cache-control')).toBe('no-store');
    const { secret, ...webhook } = (await made.json()) as { id: string; secret: string };
    expect(made.status).toBe(201);
    expect(secret).toMatch(/^whsec_/);
    expect(made.headers.get('location')).toBe(`/v1/webhooks/${webhook.id}`);
    expect(webhook).toMatchObject({ url, eventTypes: ['message.*'], contactIds: ['c1'], enabled: true });

    const path = `/v1/webhooks/${webhook.id}`;
    expect(await (await gateway.fetch(path)).json()).toEqual(webhook);
    expect(await (await gateway.fetch('/v1/webhooks')).json()).toMatchObject({ webhooks: [webhook] });
    expect((await gateway.fetch(path, { key: OTHER_KEY })).status).toBe(404);

    const removed = await gateway.fetch(path, { method: 'DELETE' });
    expect([removed.status, await removed.text()]).toEqual([204, '']);
    for (const method of ['GET', 'DELETE']) {
      expect(await problemOf(await gateway.fetch(path, { method }))).toMatchObject({ code: 'not_found' });
    }
  });

  it('are returned with the secret when created, even if Redis stops responding right after the webhook is stored', async () => {
    const controller = new WebhooksController(
      {
        create: () => Promise.resolve({ endpoint: { id: 'wh_1' }, secret: 'whsec_1' }),
      } as unknown as EndpointRegistry,
      { read: () => Promise.reject(new DeadlineError('a request to Redis', 1)) },
    );
    const reply = { header: () => reply } as unknown as FastifyReply;
    const caller = { account: 'default' } as Principal;
    expect(await controller.create(caller, { url: URL_OF_MINE } as CreateWebhookDto, reply)).toMatchObject({
      secret: 'whsec_1',
    });
  });

  it('are returned when changed, even if Redis stops responding right after the change is stored', async () => {
    let reads = 0;
    const controller = new WebhooksController(
      { change: () => Promise.resolve({ id: 'wh_1' }) } as unknown as EndpointRegistry,
      {
        read: () => {
          reads += 1;
          if (reads > 1) return Promise.reject(new DeadlineError('a request to Redis', 1));
          return Promise.resolve([{ ...HEALTH_OF_NEW_ENDPOINT, pending: 7 }]);
        },
      },
    );
    const caller = { account: 'default' } as Principal;
    expect(await controller.change(caller, 'wh_1', {})).toMatchObject({ pending: 7 });
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
    ['headers', { url: 'https://example.com', headers: { 'Webhook-Id': 'x' } }],
    ['headers', { url: 'https://example.com', headers: { 'content-type': 'x' } }],
    ['headers', { url: 'https://example.com', headers: { host: 'x' } }],
    ['headers', { url: 'https://example.com', headers: [] }],
    ['maxConcurrency', { url: 'https://example.com', maxConcurrency: 0 }],
    ['maxConcurrency', { url: 'https://example.com', maxConcurrency: 1.5 }],
    ['maxConcurrency', { url: 'https://example.com', maxConcurrency: '7' }],
    ['rateLimitPerSecond', { url: 'https://example.com', rateLimitPerSecond: 0 }],
    ['rateLimitPerSecond', { url: 'https://example.com', rateLimitPerSecond: 10_001 }],
    ['ordered', { url: 'https://example.com', ordered: 1 }],
    ['secret', { url: 'https://example.com', secret: 'mine' }],
  ])('are not created with an invalid %s: %j', async (field, body) => {
    const problem = await problemOf(await create(body));
    expect(problem).toMatchObject({ status: 400, code: 'validation_failed' });
    expect(problem.errors?.map((fault) => fault.field)).toEqual([field]);
  });
});

it('a webhook whose contactIds have more than 65,536 bytes in total is rejected, and the error names the remedy', async () => {
  const contactIds = Array.from({ length: 129 }, (_, n) => String(n).padStart(512, 'x'));
  const problem = await problemOf(await create({ url: 'https://example.com', contactIds }));
  expect(problem).toMatchObject({ status: 400, code: 'validation_failed' });
  expect(problem.errors).toEqual([
    { field: 'contactIds', message: expect.stringMatching(/at most 65536 bytes in total; list fewer/) },
  ]);
  const { id } = (await (await create({ url: 'https://example.com' })).json()) as { id: string };
  const change = { ...json({ contactIds }), method: 'PATCH' };
  expect(await problemOf(await gateway.fetch(`/v1/webhooks/${id}`, change))).toMatchObject({ status: 400 });
});

describe('An account', () => {
  it('has at most 1,000 webhooks, even with simultaneous requests; each deletion allows another creation', async () => {
    const account = 'tidings:{other}:webhooks';
    const makeOne = (): Promise<Response> =>
      gateway.fetch('/v1/webhooks', { ...json({ url: URL_OF_MINE }), key: OTHER_KEY });
    const { id } = (await (await makeOne()).json()) as { id: string };
    const stored = (await gateway.redis.hget(account, id)) ?? '';
    const others = Array.from({ length: 998 }, (_, i) => [`whk_${i}`, stored]).flat();
    await gateway.redis.hset(account, ...others);
    try {
      const replies = await Promise.all([makeOne(), makeOne(), makeOne()]);
      expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
      const refused = await problemOf(await makeOne());
      expect(refused).toMatchObject({ status: 409, code: 'conflict' });
      expect(refused.detail).toContain('Delete one first');
      await gateway.fetch(`/v1/webhooks/${id}`, { method: 'DELETE', key: OTHER_KEY });
      expect((await makeOne()).status).toBe(201);
      expect(await gateway.redis.hlen(account)).toBe(1_000);
    } finally {
      await gateway.redis.del(account);
    }
  });
});

describe('A webhook', () => {
  it('has the values of the request that created it, and default values for omitted fields', async () => {
    const whole = {
      headers: { Authorization: 'Bearer abc' },
      maxConcurrency: 3,
      rateLimitPerSecond: 0.5,
      ordered: true,
    };
    expect(await read((await made(whole)).path)).toMatchObject(whole);
    expect(await read((await made()).path)).toMatchObject({
      eventTypes: null,
      headers: {},
      maxConcurrency: null,
      rateLimitPerSecond: null,
      ordered: false,
      enabled: true,
    });
  });

  it('stores its HTTP headers encrypted', async () => {
    const { id } = await made({ headers: { Authorization: 'Bearer abc' } });
    const stored = String(await gateway.redis.hget('tidings:{default}:webhooks', id));
    expect(stored).toContain(id);
    expect(stored).not.toMatch(/Authorization|Bearer/);
  });

  it('can be updated: given fields change, null clears a field, omitted fields stay', async () => {
    const { path } = await made({
      eventTypes: ['message.*'],
      contactIds: ['c1'],
      description: 'mine',
      headers: { 'X-A': '1' },
      maxConcurrency: 3,
      rateLimitPerSecond: 5,
    });
    const before = await read(path);
    const changed = await patch(path, {
      url: 'https://example.com/other',
      ordered: true,
      headers: { b: '2' },
    });
    expect(changed.status).toBe(200);
    const expected = {
      ...before,
      url: 'https://example.com/other',
      ordered: true,
      headers: { b: '2' },
      updatedAt: expect.any(String),
    };
    expect(await changed.json()).toEqual(expected);
    expect(await read(path)).toEqual(expected);
    const cleared = {
      eventTypes: null,
      contactIds: null,
      description: null,
      maxConcurrency: null,
      rateLimitPerSecond: null,
    };
    expect(await (await patch(path, { ...cleared, headers: null })).json()).toEqual({
      ...expected,
      ...cleared,
      headers: {},
    });
  });

  it.each([
    ['url', { url: 'https://private.example/' }],
    ['url', { url: null }],
    ['eventTypes', { eventTypes: [] }],
    ['headers', { headers: { 'webhook-signature': 'x' } }],
    ['maxConcurrency', { maxConcurrency: -1 }],
    ['enabled', { enabled: null }],
    ['ordered', { ordered: 'yes' }],
    ['id', { id: 'whk_x' }],
    ['disabledReason', { disabledReason: null }],
  ])('is not updated with an invalid %s: %j', async (field, body) => {
    const { path } = await made();
    const before = await read(path);
    expect(await problemOf(await patch(path, body))).toMatchObject({ status: 400, errors: [{ field }] });
    expect(await read(path)).toEqual(before);
  });

  it.each(['eventTypes', 'contactIds'])(
    'accepts no empty list of %s when it is created or changed; the error recommends null, which selects all',
    async (field) => {
      const { path, id } = await made({ [field]: null });
      expect(await read(path)).toMatchObject({ [field]: null });
      const since = new Date().toISOString();
      const faults = [
        await problemOf(await create({ url: URL_OF_MINE, [field]: [] })),
        await problemOf(await patch(path, { [field]: [] })),
        ...(field === 'eventTypes'
          ? [await problemOf(await post(`${path}/replay`, { since, [field]: [] }))]
          : []),
      ];
      for (const { errors } of faults)
        expect(errors).toEqual([{ field, message: expect.stringMatching(/; use null to select all$/) }]);
      await patch(path, { [field]: [field === 'eventTypes' ? 'message.*' : 'c1'] });
      await patch(path, { [field]: null });
      expect(await read(path)).toMatchObject({ [field]: null });
      if (field === 'eventTypes')
        expect((await post(`/v1/webhooks/${id}/replay`, { since, eventTypes: null })).status).toBe(202);
    },
  );

  it('accepts contactIds of at most 512 characters, and the error for a longer id states this limit', async () => {
    const { path } = await made();
    expect((await patch(path, { contactIds: ['x'.repeat(512)] })).status).toBe(200);
    const problem = await problemOf(await patch(path, { contactIds: ['x'.repeat(513)] }));
    expect(problem.errors).toEqual([
      { field: 'contactIds', message: expect.stringContaining('contact ids of 1 to 512 characters') },
    ]);
  });

  it('cannot be changed to a forbidden URL, and the error names the reason and the remedy', async () => {
    const { path } = await made();
    const problem = await problemOf(await patch(path, { url: 'https://private.example/' }));
    expect(problem.detail).toMatch(/10\.0\.0\.1 is not public.*WEBHOOK_ALLOW_NETWORKS/);
    // The message completes a sentence that begins with the name of the field.
    expect(problem.errors).toEqual([
      { field: 'url', message: expect.stringMatching(/^is refused: .*[^.]$/) },
    ]);
  });

  it('keeps all changes of simultaneous updates', async () => {
    const { path } = await made();
    const changes = [
      { description: 'mine' },
      { maxConcurrency: 7 },
      { rateLimitPerSecond: 2 },
      { ordered: true },
      { eventTypes: ['send.*'] },
      { contactIds: ['c1'] },
      { headers: { a: 'b' } },
      { url: 'https://example.com/new' },
    ];
    const replies = await Promise.all([
      ...changes.map((change) => patch(path, change)),
      post(`${path}/rotate-secret`),
    ]);
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect(await read(path)).toMatchObject(Object.assign({}, ...changes) as object);
  });

  it('has no disabledReason after a caller enables it', async () => {
    const { id, path } = await made();
    const key = 'tidings:{default}:webhooks';
    const stored = JSON.parse(String(await gateway.redis.hget(key, id))) as object;
    await gateway.redis.hset(
      key,
      id,
      JSON.stringify({ ...stored, enabled: false, disabledReason: 'It answered 410.' }),
    );
    expect(await read(path)).toMatchObject({ enabled: false, disabledReason: 'It answered 410.' });
    expect(await (await patch(path, { description: 'x' })).json()).toMatchObject({
      disabledReason: 'It answered 410.',
    });
    expect(await (await patch(path, { enabled: true })).json()).toMatchObject({
      enabled: true,
      disabledReason: null,
    });
  });

  it('has a signing secret that can be read and that a rotation replaces', async () => {
    const { path, secret } = await made();
    const shown = await gateway.fetch(`${path}/secret`);
    expect([await shown.json(), shown.headers.get('cache-control')]).toEqual([{ secret }, 'no-store']);
    const rotated = (await (await post(`${path}/rotate-secret`)).json()) as {
      secret: string;
      previousExpireAt: string;
    };
    expect(rotated.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(rotated.secret).not.toBe(secret);
    const day = 86_400_000;
    expect(Math.abs(Date.parse(rotated.previousExpireAt) - Date.now() - day)).toBeLessThan(60_000);
    expect(await read(`${path}/secret`)).toEqual({ secret: rotated.secret });
  });

  it('has at most five valid signing secrets; a further rotation is rejected unless overlapSeconds is 0', async () => {
    const { path } = await made();
    for (let i = 0; i < 4; i++) expect((await post(`${path}/rotate-secret`, {})).status).toBe(200);
    const before = await read(`${path}/secret`);
    const refused = await problemOf(await post(`${path}/rotate-secret`, { overlapSeconds: 60 }));
    expect(refused).toMatchObject({ status: 409, code: 'conflict' });
    expect(refused.detail).toMatch(/0 ends all of them at once/);
    expect(await read(`${path}/secret`)).toEqual(before);
    expect((await post(`${path}/rotate-secret`, { overlapSeconds: 0 })).status).toBe(200);
    for (const overlapSeconds of [-1, 1.5, '60', 2_592_001]) {
      expect(await problemOf(await post(`${path}/rotate-secret`, { overlapSeconds }))).toMatchObject({
        status: 400,
        errors: [{ field: 'overlapSeconds' }],
      });
    }
  });

  it('gets a new webhook.test event for each test request, but a test of a disabled webhook causes 409 conflict', async () => {
    const { id, path } = await made({ eventTypes: ['contact.*'] });
    const tests = await Promise.all([post(`${path}/test`), post(`${path}/test`)]);
    expect(tests.map(({ status }) => status)).toEqual([202, 202]);
    const started = (await Promise.all(tests.map((reply) => reply.json()))) as Record<string, string>[];
    expect(new Set(started.map(({ eventId }) => eventId)).size).toBe(2);
    for (const { eventId, deliveryId } of started) {
      expect(deliveryId).toMatch(/^dlv_/);
      expect(await read(`/v1/events/${String(eventId)}`)).toMatchObject({
        type: 'webhook.test',
        data: { webhookId: id },
      });
    }
    await patch(path, { enabled: false });
    const refused = await problemOf(await post(`${path}/test`));
    expect(refused).toMatchObject({ status: 409, code: 'conflict' });
    expect(refused.detail).toMatch(/PATCH it with \{"enabled": true\}/);
  });

  it('is accessible only with an API key that belongs to its account and may manage webhooks', async () => {
    const { path } = await made();
    for (const [method, address] of [
      ['GET', path],
      ['PATCH', path],
      ['DELETE', path],
      ['GET', `${path}/secret`],
      ['POST', `${path}/rotate-secret`],
      ['POST', `${path}/test`],
    ] as const) {
      const as = async (key: string | null): Promise<string> => {
        const body = method === 'PATCH' ? { ...json({}), method } : { method };
        return (await problemOf(await gateway.fetch(address, { ...body, key }))).code;
      };
      expect([method, address, await as(OTHER_KEY)]).toEqual([method, address, 'not_found']);
      expect(await as(EMPTY_KEY)).toBe('forbidden');
      expect(await as(null)).toBe('unauthenticated');
    }
    expect((await gateway.fetch(path, { key: KEY })).status).toBe(200);
    const others = await (await gateway.fetch('/v1/webhooks', { key: OTHER_KEY })).json();
    expect(others).toEqual({ webhooks: [] });
  });
});
