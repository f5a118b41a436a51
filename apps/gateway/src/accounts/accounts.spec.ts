import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { json, OTHER_KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

const SALES = { id: 'sales', baseUrl: 'https://upstream.example/v1/', apiKey: 'upstream-key-of-sales' };

let server: TestRedis;
let gateway: TestGateway;

beforeAll(async () => {
  server = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: server.url });
});
afterAll(async () => {
  await gateway.dispose();
  await server.dispose();
});
beforeEach(async () => {
  await gateway.redis.flushall();
  gateway.log.length = 0;
});

const add = (account: object, key?: string): Promise<Response> =>
  gateway.fetch('/v1/accounts', { ...json(account), ...(key === undefined ? {} : { key }) });
const change = (id: string, changes: object): Promise<Response> =>
  gateway.fetch(`/v1/accounts/${id}`, { ...json(changes), method: 'PATCH' });
const remove = (id: string): Promise<Response> => gateway.fetch(`/v1/accounts/${id}`, { method: 'DELETE' });
/** Creates an API key of an account as the operator. */
async function keyOf(account: string, scopes: string[] = ['admin']): Promise<{ id: string; key: string }> {
  const reply = await gateway.fetch('/v1/api-keys', json({ account, name: 'test', scopes }));
  expect(reply.status).toBe(201);
  return (await reply.json()) as { id: string; key: string };
}
async function listed(key?: string): Promise<string[]> {
  const reply = await gateway.fetch('/v1/accounts', key === undefined ? {} : { key });
  return ((await reply.json()) as { accounts: { id: string }[] }).accounts.map(({ id }) => id);
}

describe('an account', () => {
  it('can be created, read, updated and deleted', async () => {
    const added = await add(SALES);
    expect(added.status).toBe(201);
    expect(added.headers.get('location')).toBe('/v1/accounts/sales');
    const view = (await added.json()) as Record<string, unknown>;
    expect(view).toEqual({
      ...{ id: 'sales', baseUrl: 'https://upstream.example/v1', requestsPerSecond: 10, polling: true },
      ...{ source: 'api', createdAt: expect.any(String), updatedAt: expect.any(String) },
    });
    expect(await (await gateway.fetch('/v1/accounts/sales')).json()).toEqual(view);
    expect(await listed()).toEqual(['default', 'sales']);

    const changed = await change('sales', { polling: false, requestsPerSecond: 0.5 });
    expect(changed.status).toBe(200);
    expect(await changed.json()).toMatchObject({
      polling: false,
      requestsPerSecond: 0.5,
      baseUrl: view.baseUrl,
    });

    expect((await remove('sales')).status).toBe(204);
    expect((await gateway.fetch('/v1/accounts/sales')).status).toBe(404);
    expect((await remove('sales')).status).toBe(404);
    expect((await change('sales', {})).status).toBe(404);
    expect(await listed()).toEqual(['default']);
  });

  it('has the request budget that UPSTREAM_REQUESTS_PER_SECOND sets, unless the account sets its own', async () => {
    const environment = { UPSTREAM_REQUESTS_PER_SECOND: '0.5' };
    await using frugal = await startTestGateway({ redisUrl: server.url, environment });
    const added = await frugal.fetch('/v1/accounts', json(SALES));
    expect(await added.json()).toMatchObject({ requestsPerSecond: 0.5 });
    const other = await frugal.fetch('/v1/accounts', json({ ...SALES, id: 'own', requestsPerSecond: 7 }));
    expect(await other.json()).toMatchObject({ requestsPerSecond: 7 });
  });

  it('whose upstream API key cannot be decrypted still allows the requests that do not need this key', async () => {
    await add(SALES);
    const { key } = await keyOf('sales', ['admin', 'messages:read']);
    const environment = { ENCRYPTION_KEY: Buffer.alloc(32, 8).toString('base64') };
    await using other = await startTestGateway({ redisUrl: server.url, environment });
    const paths = ['/v1/stats', '/v1/status', '/v1/conversations'];
    const replies = await Promise.all(paths.map((path) => other.fetch(path, { key })));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('never reveals its upstream API key in responses, logs or Redis', async () => {
    const replies = [
      await add(SALES),
      await gateway.fetch('/v1/accounts'),
      await gateway.fetch('/v1/accounts/sales'),
      await change('sales', { apiKey: 'another-upstream-key' }),
    ];
    const stored = await gateway.redis.hgetall('tidings:{.accounts}:accounts');
    const seen = [
      ...(await Promise.all(replies.map((reply) => reply.text()))),
      ...gateway.log,
      ...Object.values(stored),
    ];
    expect(stored.sales).toContain('sealedApiKey');
    for (const text of seen) {
      expect(text).not.toContain(SALES.apiKey);
      expect(text).not.toContain('another-upstream-key');
    }
  });

  it('requires a new upstream API key if its base URL is changed to a different origin', async () => {
    await add(SALES);
    for (const baseUrl of [
      'https://other.example/v1',
      'http://upstream.example/v1',
      'https://upstream.example:8443/v1',
    ]) {
      const problem = await problemOf(await change('sales', { baseUrl }));
      expect(problem).toMatchObject({
        status: 400,
        code: 'validation_failed',
        errors: [{ field: 'apiKey', message: expect.stringContaining('baseUrl') }],
      });
    }
    expect(await (await gateway.fetch('/v1/accounts/sales')).json()).toMatchObject({
      baseUrl: 'https://upstream.example/v1',
    });
    expect((await change('sales', { baseUrl: 'https://upstream.example/v2' })).status).toBe(200);
    expect(
      (await change('sales', { baseUrl: 'https://other.example/v1', apiKey: 'its-own-key' })).status,
    ).toBe(200);
  });

  it('cannot be created with the id of an existing account, or of a deleted account that still has data: 409 conflict', async () => {
    await add(SALES);
    for (const id of ['sales', 'default'])
      expect(await problemOf(await add({ ...SALES, id }))).toMatchObject({ status: 409, code: 'conflict' });
    await remove('sales');
    const early = await problemOf(await add(SALES));
    expect(early).toMatchObject({ status: 409, code: 'conflict' });
    expect(early.detail).toContain('still being removed');
  });

  it('that is defined by environment variables cannot be changed or deleted through the API, and the error names UPSTREAM_BASE_URL', async () => {
    for (const reply of [await change('default', { polling: false }), await remove('default')]) {
      const problem = await problemOf(reply);
      expect(problem).toMatchObject({ status: 409, code: 'conflict' });
      expect(problem.detail).toContain('UPSTREAM_BASE_URL');
    }
  });

  it.each([
    [{ id: 'Sales' }, 'id'],
    [{ id: '.accounts' }, 'id'],
    [{ id: 'a'.repeat(64) }, 'id'],
    [{ baseUrl: 'ftp://upstream.example' }, 'baseUrl'],
    [{ baseUrl: 'https://user:password@upstream.example/v1' }, 'baseUrl'],
    [{ baseUrl: 'https://upstream.example/v1?x=1' }, 'baseUrl'],
    [{ apiKey: 'two\r\nlines' }, 'apiKey'],
    [{ apiKey: '' }, 'apiKey'],
    [{ requestsPerSecond: 0 }, 'requestsPerSecond'],
    [{ requestsPerSecond: '10' }, 'requestsPerSecond'],
    [{ polling: 'yes' }, 'polling'],
    [{ other: 1 }, 'other'],
  ])('with the invalid fields %j is rejected, and the error names the field', async (fault, field) => {
    const problem = await problemOf(await add({ ...SALES, ...fault }));
    expect(problem).toMatchObject({ status: 400, code: 'validation_failed', errors: [{ field }] });
    expect(await listed()).toEqual(['default']);
  });
});

describe('an admin of an account other than "default"', () => {
  it('can read only that account, and cannot create, change or delete any account', async () => {
    await add(SALES);
    await add({ ...SALES, id: 'support' });
    const { key } = await keyOf('sales');
    expect(await listed(key)).toEqual(['sales']);
    const status = async (method: string, path: string, body?: object): Promise<number> =>
      (await gateway.fetch(path, { ...(body === undefined ? {} : json(body)), method, key })).status;
    expect(await status('GET', '/v1/accounts/sales')).toBe(200);
    expect(await status('PATCH', '/v1/accounts/sales', { polling: false })).toBe(403);
    expect(await status('DELETE', '/v1/accounts/sales')).toBe(403);
    expect(await status('POST', '/v1/accounts', { ...SALES, id: 'mine' })).toBe(403);
    for (const id of ['support', 'default', 'nobody']) {
      expect(await status('GET', `/v1/accounts/${id}`)).toBe(404);
      expect(await status('PATCH', `/v1/accounts/${id}`, { polling: false })).toBe(404);
      expect(await status('DELETE', `/v1/accounts/${id}`)).toBe(404);
      expect(await status('POST', `/v1/accounts/${id}/confirm-deletions`)).toBe(404);
    }
    expect(await listed()).toEqual(['default', 'sales', 'support']);
  });
});

describe('POST /v1/accounts/{id}/confirm-deletions', () => {
  const confirm = (account: string, key?: string): Promise<Response> =>
    gateway.fetch(`/v1/accounts/${account}/confirm-deletions`, {
      method: 'POST',
      ...(key === undefined ? {} : { key }),
    });
  const deletionsConfirmedAt = (account: string): Promise<string | null> =>
    gateway.redis.hget(`tidings:{${account}}:contact-list`, 'believedAt');

  it('stores the time at which a caller confirmed that the missing contacts and messages were deleted', async () => {
    expect(await deletionsConfirmedAt('default')).toBeNull();
    expect((await confirm('default')).status).toBe(204);
    expect(Number(await deletionsConfirmedAt('default'))).toBeGreaterThan(0);
  });

  it('accepts an API key of the account "default" for any account, and returns 404 for an API key of an unrelated account', async () => {
    await add(SALES);
    expect((await confirm('sales', OTHER_KEY)).status).toBe(404);
    expect(await deletionsConfirmedAt('sales')).toBeNull();
    expect((await confirm('sales')).status).toBe(204);
    expect(Number(await deletionsConfirmedAt('sales'))).toBeGreaterThan(0);
  });

  it('returns 404 and stores nothing if the account is unknown', async () => {
    expect((await confirm('nobody')).status).toBe(404);
    expect(await gateway.redis.keys('*nobody*')).toEqual([]);
  });
});

describe('a change of an account, an API key or a webhook', () => {
  it('is logged in one line with the caller, action, subject, request id and field names, but without values', async () => {
    const started = gateway.log.length;
    await gateway.fetch('/v1/accounts', json(SALES, { 'x-request-id': 'request-1' }));
    await change('sales', { apiKey: 'another-upstream-key', polling: false });
    const { id, key } = await keyOf('sales', ['admin', 'webhooks:manage']);
    const hook = await gateway.fetch('/v1/webhooks', {
      ...json({ url: 'https://example.com/h', headers: { authorization: 'hush-hush' } }),
      key,
    });
    const { id: hookId } = (await hook.json()) as { id: string };
    await gateway.fetch(`/v1/webhooks/${hookId}/rotate-secret`, { method: 'POST', key });
    await gateway.fetch(`/v1/webhooks/${hookId}`, { method: 'DELETE', key });
    // A failed request changes nothing, so it is not logged as a change.
    await change('sales', { polling: 'yes' });
    await gateway.fetch(`/v1/api-keys/${id}`, { ...json({ 'not-read': 1 }), method: 'DELETE' });
    await remove('sales');
    const lines = gateway.log
      .slice(started)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'action.audited');
    const who = { account: 'default', keyId: expect.stringMatching(/^id-of-/) };
    const theirs = { account: 'sales', keyId: id };
    expect(lines).toMatchObject([
      {
        action: 'account.created',
        subject: 'sales',
        ...who,
        requestId: 'request-1',
        fields: ['apiKey', 'baseUrl', 'id'],
      },
      { action: 'account.changed', subject: 'sales', ...who, fields: ['apiKey', 'polling'] },
      { action: 'api-key.created', subject: id, ...who, fields: ['account', 'name', 'scopes'] },
      { action: 'webhook.created', subject: hookId, ...theirs, fields: ['headers', 'url'] },
      { action: 'webhook.secret-rotated', subject: hookId, ...theirs, fields: [] },
      { action: 'webhook.removed', subject: hookId, ...theirs },
      { action: 'api-key.revoked', subject: id, ...who, fields: [] },
      { action: 'account.removed', subject: 'sales', ...who },
    ]);
    for (const secret of [SALES.apiKey, 'another-upstream-key', key, 'hush-hush', 'whsec_'])
      expect(gateway.log.join('')).not.toContain(secret);
  });
});
