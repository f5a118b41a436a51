import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { request as httpRequest } from 'node:http';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { eventually } from '../../../../test/support/eventually.js';
import { RedisEventLog } from '#events';
import { WAIT_SETTINGS } from '../events/wait-settings.js';
import { ConsoleBrowser } from '../fixtures/console.js';
import { someEvent } from '../fixtures/events.js';
import { json, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { makeToken } from '../fixtures/tokens.js';
import { API_KEY_SCOPES } from '#accounts';
import { EVENT_WAITS } from '../tokens.js';
import { ApiKeysController } from './api-keys.controller.js';

interface Made {
  id: string;
  key: string;
  account: string;
  scopes: string[];
}

/** Streams check their API key at each comment line: here twice a second. */
const BOUND = [{ provide: EVENT_WAITS, useValue: { ...WAIT_SETTINGS, commentMs: 500 } }];

let server: TestRedis;
let one: TestGateway;
let two: TestGateway;

beforeAll(async () => {
  server = await startTestRedis();
  [one, two] = (await Promise.all(
    [server, server].map(({ url }) => startTestGateway({ redisUrl: url, bound: BOUND })),
  )) as [TestGateway, TestGateway];
});
afterAll(async () => {
  await Promise.all([one.dispose(), two.dispose()]);
  await server.dispose();
});
beforeEach(async () => {
  await one.redis.flushall();
  two.sends.requests.length = 0;
  for (const id of ['sales', 'support'])
    await one.fetch('/v1/accounts', json({ id, baseUrl: 'https://upstream.example/v1', apiKey: 'k' }));
});

const ask = (body: object, key?: string): Promise<Response> =>
  one.fetch('/v1/api-keys', {
    ...json({ account: 'sales', name: 'test', scopes: ['messages:read'], ...body }),
    ...(key === undefined ? {} : { key }),
  });
async function make(body: object = {}, key?: string): Promise<Made> {
  const reply = await ask(body, key);
  expect(reply.status).toBe(201);
  return (await reply.json()) as Made;
}
const revoke = (id: string, key?: string): Promise<Response> =>
  one.fetch(`/v1/api-keys/${id}`, { method: 'DELETE', ...(key === undefined ? {} : { key }) });
async function listed(query = '', key?: string): Promise<Record<string, unknown>[]> {
  const reply = await one.fetch(`/v1/api-keys${query}`, key === undefined ? {} : { key });
  return ((await reply.json()) as { apiKeys: Record<string, unknown>[] }).apiKeys;
}
const used = async (gateway: TestGateway, key: string): Promise<number> =>
  (await gateway.fetch('/v1/sends', { key })).status;

describe('an API key', () => {
  it('is shown once, gives access to its account at every gateway, and is stored only as a hash', async () => {
    const { key, id, ...rest } = await make();
    expect(key).toMatch(/^tidings_[\w-]{43}$/);
    expect(rest).toEqual({
      ...{ account: 'sales', name: 'test', scopes: ['messages:read'] },
      ...{ createdAt: expect.any(String), expiresAt: null, lastUsedAt: null },
    });
    expect(await Promise.all([used(one, key), used(two, key)])).toEqual([200, 200]);
    const beyond = await one.fetch('/v1/events', { key });
    expect(await problemOf(beyond)).toMatchObject({ status: 403, code: 'forbidden' });
    expect((await listed()).map((shown) => shown.id)).toEqual(['environment', id]);
    expect(JSON.stringify(await listed())).not.toContain(key);
    const stored = JSON.stringify(await one.redis.hgetall('tidings:{.accounts}:api-keys'));
    expect(stored).toContain(id);
    expect(stored).not.toContain(key);
    expect(stored).not.toContain(key.slice('tidings_'.length));
  });

  it('is listed with the time at which the API key or one of its tokens was last used at any gateway', async () => {
    const { id, key } = await make();
    const { id: idOfToken, key: keyOfToken } = await make();
    const lastUseOf = async (wanted: string): Promise<unknown> =>
      (await listed()).find((shown) => shown.id === wanted)?.lastUsedAt;
    const { token } = await makeToken(one, { scopes: ['messages:read'] }, keyOfToken);
    await one.redis.del('tidings:{.accounts}:api-key-uses');
    expect([await lastUseOf(id), await lastUseOf(idOfToken)]).toEqual([null, null]);
    await used(two, key);
    expect((await two.fetch('/v1/sends', { token })).status).toBe(200);
    await eventually('both uses are recorded', async () =>
      [await lastUseOf(id), await lastUseOf(idOfToken)].every((at) => typeof at === 'string'),
    );
    expect(Math.abs(Date.parse(String(await lastUseOf(id))) - Date.now())).toBeLessThan(60_000);
  });

  it.each([
    [
      'to read the metrics',
      (key: string) => one.fetch('/metrics', { key, headers: { 'x-forwarded-for': '203.0.113.9' } }),
    ],
    ['to sign in to the console', (key: string) => new ConsoleBrowser(one).askToSignIn(key)],
  ])('is listed with its last use, also if it was used %s', async (_, use) => {
    const { id, key } = await make({ scopes: ['admin'] });
    expect((await use(key)).ok).toBe(true);
    await eventually('the use is recorded', async () =>
      (await listed()).some((shown) => shown.id === id && typeof shown.lastUsedAt === 'string'),
    );
  });

  it('that is revoked at one gateway is rejected by another gateway at the next request', async () => {
    const { id, key } = await make();
    expect(await used(two, key)).toBe(200);
    expect((await revoke(id)).status).toBe(204);
    expect(await Promise.all([used(one, key), used(two, key)])).toEqual([401, 401]);
    expect((await revoke(id)).status).toBe(404);
    expect(await listed('?account=sales')).toEqual([]);
  });

  it('stops working everywhere when its account is deleted; keys of other accounts still work', async () => {
    const theirs = await make();
    const others = await make({ account: 'support' });
    await one.fetch('/v1/accounts/sales', { method: 'DELETE' });
    expect(await Promise.all([used(one, theirs.key), used(two, theirs.key)])).toEqual([401, 401]);
    expect(await used(two, others.key)).toBe(200);
    expect((await listed()).map(({ id }) => id)).toEqual(['environment', others.id]);
    expect((await ask({})).status).toBe(404);
  });

  it('is rejected by every gateway after its expiry, and cannot be created with a past expiry', async () => {
    const past = await ask({ expiresAt: '2020-01-01T00:00:00Z' });
    expect(await problemOf(past)).toMatchObject({ status: 400, errors: [{ field: 'expiresAt' }] });
    const { key, id } = await make({ expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
    expect(await used(one, key)).toBe(200);
    // Simulates the end of the hour.
    const kept = JSON.parse((await one.redis.hget('tidings:{.accounts}:api-keys', id)) ?? '') as object;
    const over = JSON.stringify({ ...kept, expiresAt: new Date(Date.now() - 1).toISOString() });
    await one.redis.hset('tidings:{.accounts}:api-keys', id, over);
    expect(await Promise.all([used(one, key), used(two, key)])).toEqual([401, 401]);
  });

  it('that expires cannot create an API key that expires later or never', async () => {
    const end = Date.now() + 3_600_000;
    const { key } = await make({ scopes: ['admin'], expiresAt: new Date(end).toISOString() });
    for (const expiresAt of [undefined, new Date(end + 1).toISOString()]) {
      const refused = await ask({ scopes: ['admin'], expiresAt }, key);
      expect(await problemOf(refused)).toMatchObject({ status: 403, code: 'forbidden' });
    }
    await make({ scopes: ['admin'], expiresAt: new Date(end).toISOString() }, key);
  });

  it('is rejected if its id matches a stored key, but its hash does not', async () => {
    const { key, id } = await make();
    const kept = JSON.parse((await one.redis.hget('tidings:{.accounts}:api-keys', id)) ?? '') as {
      sha256: string;
    };
    const other = `${kept.sha256.slice(0, 63)}${kept.sha256.endsWith('0') ? '1' : '0'}`;
    await one.redis.hset('tidings:{.accounts}:api-keys', id, JSON.stringify({ ...kept, sha256: other }));
    expect(await used(one, key)).toBe(401);
  });

  it('from the variable API_KEY is listed and cannot be revoked', async () => {
    expect((await listed('?account=default'))[0]).toMatchObject({ id: 'environment', account: 'default' });
    const problem = await problemOf(await revoke('environment'));
    expect(problem).toMatchObject({ status: 409, code: 'conflict' });
    expect(problem.detail).toContain('API_KEY');
  });

  it.each([
    [{ scopes: [] }, 'scopes'],
    [{ scopes: ['admin', 'admin'] }, 'scopes'],
    [{ scopes: ['everything'] }, 'scopes'],
    [{ scopes: 'admin' }, 'scopes'],
    [{ name: '' }, 'name'],
    [{ account: 'No Such' }, 'account'],
    [{ expiresAt: 'tomorrow' }, 'expiresAt'],
    [{ expiresAt: '' }, 'expiresAt'],
  ])('with the invalid fields %j is not created, and the error names the field', async (fault, field) => {
    expect(await problemOf(await ask(fault))).toMatchObject({ status: 400, errors: [{ field }] });
  });

  it('is not created if its account already has the maximum number of API keys, and the error names the remedy', async () => {
    const filled = Array.from({ length: 1_000 }, (_, i) => `key_${i}`);
    await one.redis.sadd('tidings:{.accounts}:api-keys-of:sales', filled);
    const problem = await problemOf(await ask({}));
    expect(problem).toMatchObject({ status: 409, code: 'conflict' });
    expect(problem.detail).toContain('Delete one first');
    expect((await ask({ account: 'support' })).status).toBe(201);
  });

  /** Creates a valid API key and two expired ones, and fills their account to the maximum number of API keys. */
  async function fillWithExpired(): Promise<{ valid: string; expired: string }> {
    const [valid, expired, longExpired] = [await make(), await make(), await make()];
    for (const [{ id }, expiresAt] of [
      [expired, '2021-01-01T00:00:00.000Z'],
      [longExpired, '2020-01-01T00:00:00.000Z'],
    ] as const) {
      const stored = JSON.parse((await one.redis.hget('tidings:{.accounts}:api-keys', id)) ?? '') as object;
      await one.redis.hset('tidings:{.accounts}:api-keys', id, JSON.stringify({ ...stored, expiresAt }));
    }
    const filled = Array.from({ length: 997 }, (_, i) => `key_${i}`);
    await one.redis.sadd('tidings:{.accounts}:api-keys-of:sales', filled);
    return { valid: valid.id, expired: expired.id };
  }

  it('replaces the API key that has been expired for longest, if its account has the maximum number of API keys', async () => {
    const { valid, expired } = await fillWithExpired();
    const added = await make();
    expect((await listed('?account=sales')).map(({ id }) => id).sort()).toEqual(
      [valid, expired, added.id].sort(),
    );
  });

  it('replaces one expired API key even if others are created at the same time, and is rejected if none is left to replace', async () => {
    await fillWithExpired();
    const replies = await Promise.all([ask({}), ask({}), ask({})]);
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 409]);
  });
});

describe('a request to create an API key', () => {
  /** Requests an API key at the time `now` of Redis' clock, with an API key that expires at `ownEnd`. */
  function create(expiresAt: string | undefined, now: number, ownEnd?: number): Promise<unknown> {
    const keys = {
      // The key of the caller was revoked after the request began.
      find: () => Promise.resolve(undefined),
      create: () => Promise.resolve({ apiKey: { id: 'key_1' }, key: 'tk_1' }),
    };
    const accounts = { find: () => Promise.resolve({}) };
    const controller = new ApiKeysController(keys as never, accounts, { now: () => now });
    const caller = {
      ...{ keyId: 'key_0', account: 'default', scopes: new Set(API_KEY_SCOPES) },
      ...(ownEnd === undefined ? {} : { expiresAt: ownEnd }),
    };
    const body = { account: 'sales', name: 'test', scopes: ['admin' as const] };
    const given = expiresAt === undefined ? body : { ...body, expiresAt };
    return controller.create(caller, given, {} as never);
  }
  const NOON = Date.parse('2030-01-01T12:00:00Z');

  it('is rejected if the expiry is in the past by the clock of Redis, whatever the clock of the machine says', async () => {
    await expect(create('2030-01-01T11:59:59Z', NOON)).rejects.toThrow('must be in the future');
    const past = new Date(Date.now() - 3_600_000);
    expect(await create(past.toISOString(), past.getTime() - 1)).toMatchObject({ key: 'tk_1' });
  });

  it('is rejected if the new API key would outlive the key of the caller, even if the key of the caller was revoked after the request began', async () => {
    await expect(create(undefined, NOON, NOON + 1_000)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await create('2030-01-01T12:00:01Z', NOON, NOON + 1_000)).toMatchObject({ key: 'tk_1' });
  });
});

describe('an admin of an account other than "default"', () => {
  it('manages only API keys of that account, and grants only scopes that its own key has', async () => {
    const admin = await make({ scopes: ['admin', 'events:read'] });
    const foreign = await make({ account: 'support' });
    expect((await listed('', admin.key)).map(({ id }) => id)).toEqual([admin.id]);
    const made = await make({ scopes: ['events:read'] }, admin.key);
    expect((await listed('?account=sales', admin.key)).map(({ id }) => id).sort()).toEqual(
      [admin.id, made.id].sort(),
    );
    expect(await problemOf(await ask({ scopes: ['messages:send'] }, admin.key))).toMatchObject({
      status: 403,
      code: 'forbidden',
    });
    for (const account of ['support', 'default', 'nobody']) {
      expect((await ask({ account, scopes: ['events:read'] }, admin.key)).status).toBe(404);
      expect((await one.fetch(`/v1/api-keys?account=${account}`, { key: admin.key })).status).toBe(404);
    }
    for (const id of [foreign.id, 'environment', 'key_none'])
      expect((await revoke(id, admin.key)).status).toBe(404);
    expect(await used(two, foreign.key)).toBe(200);
    expect((await revoke(made.id, admin.key)).status).toBe(204);
  });
});

describe('a request whose API key is revoked before the request ends', () => {
  it('ends at the next check of the API key, even while events keep arriving, if the request is an event stream', async () => {
    const { id, key } = await make({ scopes: ['events:read'] });
    const reply = await two.fetch('/v1/events/stream', { key });
    expect(reply.status).toBe(200);
    const log = new RedisEventLog(one.redis, 'tidings');
    const append = (revision: number): Promise<void> =>
      log.append('sales', [someEvent('message.sent', revision)]);
    const stream = { text: '', isEnded: false };
    const reading = (async () => {
      for await (const part of reply.body ?? []) stream.text += Buffer.from(part).toString();
      stream.isEnded = true;
    })();
    await append(1);
    await eventually('the first event arrives', () => stream.text.includes('data:'));
    await revoke(id);
    let revision = 1;
    await eventually('the stream ends', async () => {
      await append(++revision);
      return stream.isEnded;
    });
    await reading;
  });

  it('gets 401 instead of events if the request is a long poll', async () => {
    const { id, key } = await make({ scopes: ['events:read'] });
    const waiting = two.fetch('/v1/events?after=now&wait=2', { key });
    await eventually(
      'the API key is accepted',
      async () => (await one.redis.keys(`tidings:rate:${id}`)).length === 1,
    );
    await revoke(id);
    expect((await waiting).status).toBe(401);
  });

  it.each([
    [
      'an upload',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="phoneNumber"\r\n\r\n',
      '+14155550123\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc\r\n--x--\r\n',
    ],
    ['slow JSON', 'application/json', '{"phoneNumber":"+14155550123",', '"message":"hi"}'],
  ])('gets 401 and stores no send if the request body is %s', async (_, type, beginning, end) => {
    const { id, key } = await make({ scopes: ['messages:send'] });
    const headers = { 'x-api-key': key, 'content-type': type };
    const request = httpRequest(`${two.url}/v1/messages/send`, { method: 'POST', headers });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      request.once('error', reject).once('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      });
    });
    request.write(beginning);
    await eventually(
      'the API key is accepted',
      async () => (await one.redis.keys(`tidings:rate:${id}`)).length === 1,
    );
    await revoke(id);
    // A body that takes longer than a second counts as slow.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    request.end(end);
    expect(await answered).toBe(401);
    expect(two.sends.requests).toEqual([]);
    const theirs = await one.redis.keys('tidings:{sales}:*');
    expect(theirs.filter((name) => !/:(health:probe|audit)$/.test(name))).toEqual([]);
  });
});
