import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SESSION_LIMITS, type SessionLimits } from '#accounts';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { ConsoleBrowser, SAME_ORIGIN } from '../fixtures/console.js';
import {
  EMPTY_KEY,
  json,
  KEY,
  OTHER_KEY,
  problemOf,
  startTestGateway,
  type TestGateway,
} from '../fixtures/gateway.js';
import { makeKey, makeToken } from '../fixtures/tokens.js';
import { MAX_FAILED_SIGN_INS } from './sign-in-limit.js';

const ORIGIN = 'https://app.example.com';

let server: TestRedis;
let gateway: TestGateway;
let browser: ConsoleBrowser;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});

async function start(limits?: SessionLimits): Promise<TestGateway> {
  return await startTestGateway({
    redisUrl: server.url,
    environment: { CORS_ORIGINS: ORIGIN, ...(limits === undefined ? { RATE_LIMIT_PER_MINUTE: '40' } : {}) },
    ...(limits === undefined ? {} : { sessionLimits: limits }),
  });
}

const host = (): string => new URL(gateway.url).host;
const audits = (): unknown[] =>
  gateway.log
    .map((line) => JSON.parse(line) as { msg: string })
    .filter(({ msg }) => msg === 'action.audited');

describe('a session of the console', () => {
  beforeAll(async () => {
    gateway = await start();
  });
  afterAll(async () => {
    await gateway.dispose();
  });
  beforeEach(async () => {
    await gateway.redis.flushall();
    gateway.log.length = 0;
    browser = new ConsoleBrowser(gateway);
  });

  it('is created with an API key, and its cookie is inaccessible to scripts and to other hosts', async () => {
    const reply = await browser.askToSignIn(KEY);
    expect([reply.status, reply.headers.get('cache-control')]).toEqual([201, 'no-store']);
    const session = (await reply.json()) as { expiresAt: string };
    expect(session).toEqual({
      ...{ id: expect.stringMatching(/^ses_\w{32}$/), account: 'default', keyId: `id-of-${KEY}` },
      scopes: ['messages:send', 'messages:read', 'webhooks:manage', 'events:read', 'admin'],
      ...{ expiresAt: expect.any(String), idleSeconds: 1_800 },
    });
    expect(Math.abs(Date.parse(session.expiresAt) - Date.now() - 43_200_000)).toBeLessThan(5_000);
    expect(browser.setCookie).toMatch(
      /^__Host-tidings=ts_[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
    );
  });

  it('has the account, the scopes and the rate limit of its API key', async () => {
    const { id } = await browser.signIn();
    expect((await browser.as(id, '/v1/status')).status).toBe(200);
    const sent = await browser.as(
      id,
      '/v1/messages/send',
      json({ phoneNumber: '+14155550123', message: 'x' }),
    );
    expect(sent.status).toBe(200);
    const reply = await browser.as(id, '/v1/sends');
    expect([reply.status, reply.headers.get('ratelimit-limit')]).toEqual([200, '40']);
    const remaining = Number(reply.headers.get('ratelimit-remaining'));
    const byKey = await gateway.fetch('/v1/sends');
    expect(Number(byKey.headers.get('ratelimit-remaining'))).toBe(remaining - 1);
    const powerless = await browser.signIn(EMPTY_KEY);
    expect((await browser.as(powerless.id, '/v1/sends')).status).toBe(403);
  });

  it('permits a page of the console to create and delete objects, as its API key does', async () => {
    const { id } = await browser.signIn();
    const request = json({ url: 'https://example.com/hook' }, { origin: `http://${host()}` });
    const made = await browser.as(id, '/v1/webhooks', request);
    expect(made.status).toBe(201);
    const { id: webhook } = (await made.json()) as { id: string };
    expect((await browser.as(id, `/v1/webhooks/${webhook}`, { method: 'DELETE' })).status).toBe(204);
  });

  it('requires both the cookie and the header X-Tidings-Console', async () => {
    const { id } = await browser.signIn();
    expect((await browser.fetch('/v1/sends', SAME_ORIGIN)).status).toBe(401);
    expect((await browser.fetch('/v1/sends', { ...SAME_ORIGIN, 'x-tidings-console': '' })).status).toBe(401);
    const unknown = await problemOf(await browser.as('ses_other', '/v1/sends'));
    expect(unknown).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect(unknown.detail).toContain('Sign in again');
    expect((await new ConsoleBrowser(gateway).as(id, '/v1/sends')).status).toBe(401);
    expect((await browser.as(id, '/v1/sends')).status).toBe(200);
  });

  it.each([
    ['a page of the gateway', { 'sec-fetch-site': 'same-origin' }, 200],
    [
      'a page of the gateway that hides its address',
      { 'sec-fetch-site': 'same-origin', origin: 'null' },
      200,
    ],
    ['a page of the gateway in an old browser', { origin: 'http://HOST' }, 200],
    ['an unknown sender', {}, 401],
    ['another site', { 'sec-fetch-site': 'cross-site' }, 401],
    ['another host of the same site', { 'sec-fetch-site': 'same-site' }, 401],
    ['the user, who typed the URL', { 'sec-fetch-site': 'none' }, 401],
    ['another site in an old browser', { origin: 'https://evil.example' }, 401],
    ['another port of the host', { origin: 'http://127.0.0.1:1' }, 401],
    ['a hidden page in an old browser', { origin: 'null' }, 401],
    ['another site, with contradicting headers', { 'sec-fetch-site': 'same-origin', origin: ORIGIN }, 401],
    ['a page in CORS_ORIGINS', { 'sec-fetch-site': 'cross-site', origin: ORIGIN }, 401],
    ['a page in CORS_ORIGINS in an old browser', { origin: ORIGIN }, 401],
  ])(
    'can be used only by pages of the gateway: a request from %s with the headers %j gets the status %i',
    async (_, given, status) => {
      const { id } = await browser.signIn();
      const headers = Object.fromEntries(
        Object.entries(given).map(([name, value]) => [name, value.replace('HOST', host())]),
      );
      const reply = await browser.fetch('/v1/sends', { ...headers, 'x-tidings-console': id });
      expect(reply.status).toBe(status);
      expect(reply.headers.get('access-control-allow-credentials')).toBeNull();
      const routes: [string, string, number][] = [
        ['POST', '/console/sessions', 201],
        ['GET', '/console/sessions', 200],
        ['DELETE', `/console/sessions/${id}`, 204],
      ];
      const { cookie = '' } = browser;
      for (const [method, path, allowed] of status === 200 ? routes.slice(1) : routes) {
        const one = await browser.fetch(
          path,
          { ...headers, cookie, 'x-tidings-console': id, ...(method === 'POST' ? { 'x-api-key': KEY } : {}) },
          { method },
        );
        expect([method, one.status]).toEqual([method, status === 200 ? allowed : 403]);
        expect(one.headers.has('set-cookie')).toBe(status === 200 && method === 'DELETE');
      }
      for (const [method, path] of routes) {
        const init = { method, key: null, headers: { ...SAME_ORIGIN, cookie } };
        expect((await gateway.fetch(path, init)).status).toBe(403);
      }
    },
  );

  it('cannot be used by a page of an origin in CORS_ORIGINS, because the header X-Tidings-Console is not allowed', async () => {
    const asked = await gateway.fetch('/v1/sends', {
      ...{ method: 'OPTIONS', key: null },
      headers: {
        ...{ origin: ORIGIN, 'access-control-request-method': 'GET' },
        'access-control-request-headers': 'content-type,X-Tidings-Console,x-api-key',
      },
    });
    expect([asked.status, asked.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'content-type, x-api-key',
    ]);
    expect(asked.headers.get('access-control-allow-credentials')).toBeNull();
  });

  it('is ignored if the request also has an API key or a bearer token', async () => {
    const { id } = await browser.signIn(OTHER_KEY);
    const { token } = await makeToken(gateway, { scopes: ['messages:send'] });
    const made = await gateway.fetch(
      '/v1/messages/send',
      json({ phoneNumber: '+14155550123', message: 'hi' }),
    );
    const path = String(made.headers.get('location'));
    const headers = browser.headersOf(id);
    expect((await browser.fetch(path, headers)).status).toBe(404);
    expect((await browser.fetch(path, { ...headers, 'x-api-key': KEY })).status).toBe(200);
    for (const wrong of [{ 'x-api-key': 'wrong' }, { 'x-api-key': '' }, { authorization: 'Bearer wrong' }])
      expect((await browser.fetch(path, { ...headers, ...wrong })).status).toBe(401);
    const byToken = await browser.fetch('/v1/events', { ...headers, authorization: `Bearer ${token}` });
    expect(byToken.status).toBe(403);
  });

  it('can exist beside sessions of other API keys in one browser; the header X-Tidings-Console selects a session', async () => {
    const [one, two] = [await browser.signIn(KEY), await browser.signIn(OTHER_KEY)];
    const made = await gateway.fetch(
      '/v1/messages/send',
      json({ phoneNumber: '+14155550123', message: 'hi' }),
    );
    const path = String(made.headers.get('location'));
    expect((await browser.as(one.id, path)).status).toBe(200);
    expect((await browser.as(two.id, path)).status).toBe(404);
    expect(await browser.sessions()).toEqual([one, two]);
    expect((await browser.signOut(one.id)).status).toBe(204);
    expect(await browser.sessions()).toEqual([two]);
    expect((await browser.as(one.id, path)).status).toBe(401);
  });

  it('replaces the earlier session of the same API key in the same browser', async () => {
    const former = await browser.signIn();
    const { cookie } = browser;
    const elsewhere = new ConsoleBrowser(gateway);
    const other = await elsewhere.signIn();
    const session = await browser.signIn();
    expect(await browser.sessions()).toEqual([session]);
    browser.cookie = cookie;
    expect((await browser.as(former.id, '/v1/sends')).status).toBe(401);
    expect((await elsewhere.as(other.id, '/v1/sends')).status).toBe(200);
  });

  it('is not created if the browser has five sessions: 409, until the browser signs out of one of them', async () => {
    const keys = [];
    for (let i = 0; i < 6; i++) keys.push((await makeKey(gateway)).key);
    const sessions = [];
    for (const key of keys.slice(0, 5)) sessions.push(await browser.signIn(key));
    const problem = await problemOf(await browser.askToSignIn(keys[5] ?? ''));
    expect(problem).toMatchObject({ status: 409, code: 'conflict' });
    expect(problem.detail).toContain('Sign out of another session first');
    sessions[4] = await browser.signIn(keys[4]);
    await browser.signOut(sessions[0]?.id ?? '');
    sessions.push(await browser.signIn(keys[5]));
    expect(await browser.sessions()).toEqual(sessions.slice(1));
  });

  it('ends at the next request after the revocation of its API key', async () => {
    const { id, key } = await makeKey(gateway);
    const session = await browser.signIn(key);
    expect((await browser.as(session.id, '/v1/sends')).status).toBe(200);
    await gateway.fetch(`/v1/api-keys/${id}`, { method: 'DELETE' });
    expect((await browser.as(session.id, '/v1/sends')).status).toBe(401);
    expect(await browser.sessions()).toEqual([]);
    expect((await browser.signOut(session.id)).status).toBe(404);
    expect([browser.cookie, browser.setCookie]).toEqual([
      undefined,
      '__Host-tidings=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0',
    ]);
  });

  it('can be ended only by the browser that has the session', async () => {
    const { id } = await browser.signIn();
    const other = new ConsoleBrowser(gateway);
    await other.signIn(OTHER_KEY);
    expect(await problemOf(await other.signOut(id))).toMatchObject({ status: 404, code: 'not_found' });
    expect((await browser.as(id, '/v1/sends')).status).toBe(200);
    expect((await browser.signOut(id)).status).toBe(204);
    expect(browser.cookie).toBeUndefined();
  });

  it('is not created with a token, without an API key, or with any field in the request body', async () => {
    const { token } = await makeToken(gateway);
    const headers = { ...SAME_ORIGIN, 'x-tidings-console': 'new' };
    const post = (more: Record<string, string>, body?: string): Promise<Response> =>
      browser.fetch('/console/sessions', { ...headers, ...more }, { method: 'POST', body: body ?? null });
    expect((await post({ authorization: `Bearer ${token}` })).status).toBe(403);
    await browser.signIn();
    for (const more of [{}, { 'x-api-key': '' }, { authorization: 'Basic eDp5' }])
      expect((await post(more)).status).toBe(401);
    const fields = await post({ 'x-api-key': KEY, 'content-type': 'application/json' }, '{"key":"x"}');
    expect(await problemOf(fields)).toMatchObject({ status: 400, errors: [{ field: 'key' }] });
    const empty = await post({ 'x-api-key': KEY, 'content-type': 'application/json' }, '{}');
    expect(empty.status).toBe(201);
  });

  it('is not created with a token, but the request counts towards the rate limits of the token and its API key', async () => {
    const { token } = await makeToken(gateway);
    const signIn = async (): Promise<Response> => {
      const headers = { ...SAME_ORIGIN, 'x-tidings-console': 'new', authorization: `Bearer ${token}` };
      return await browser.fetch('/console/sessions', headers, { method: 'POST' });
    };
    const remaining = async (by: Promise<Response>): Promise<number> =>
      Number((await by).headers.get('ratelimit-remaining'));
    const ofKey = await remaining(gateway.fetch('/v1/sends'));
    const ofToken = await remaining(signIn());
    expect(await remaining(signIn())).toBe(ofToken - 1);
    expect(await remaining(gateway.fetch('/v1/sends'))).toBe(ofKey - 3);
  });

  it('is not created after too many failed sign-ins from the same address, even with a valid API key: 429', async () => {
    // The failed sign-ins of the other tests are not counted here, nor the other way round.
    await using own = await start();
    const browser = new ConsoleBrowser(own);
    for (let i = 0; i < MAX_FAILED_SIGN_INS + 5; i++) await browser.signIn(i % 2 === 0 ? KEY : OTHER_KEY);
    const failed = await Promise.all(
      Array.from({ length: MAX_FAILED_SIGN_INS + 5 }, () => browser.askToSignIn('wrong')),
    );
    expect(failed.filter(({ status }) => status === 401)).toHaveLength(MAX_FAILED_SIGN_INS);
    const refused = await browser.askToSignIn(KEY);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await problemOf(refused)).toMatchObject({ status: 429, code: 'rate_limited' });
    expect((await own.fetch('/v1/sends')).status).toBe(200);
  });

  it('is audited at sign-in and sign-out, and its token is never logged', async () => {
    const { id } = await browser.signIn();
    const { cookie = '' } = browser;
    await browser.as(id, '/v1/sends');
    await browser.as('ses_other', '/v1/sends');
    await browser.signOut(id);
    const who = { subject: id, account: 'default', keyId: `id-of-${KEY}`, fields: [] };
    expect(audits()).toMatchObject([
      { action: 'session.created', ...who },
      { action: 'session.ended', ...who },
    ]);
    expect(gateway.log.join('')).toContain(`"sessionId":"${id}"`);
    expect(gateway.log.join('')).not.toContain(cookie.slice(cookie.indexOf('ts_') + 3));
  });
});

describe('a session with short limits', () => {
  afterEach(async () => {
    await gateway.dispose();
  });

  it('ends after its idle time without a request; a request that the user caused extends the session', async () => {
    gateway = await start({ ...SESSION_LIMITS, idleMs: 1_500, renewMs: 100 });
    const [used, idle] = [new ConsoleBrowser(gateway), new ConsoleBrowser(gateway)];
    const [one, two] = [await used.signIn(KEY), await idle.signIn(OTHER_KEY)];
    await eventually('the unused session ends', async () => {
      expect((await used.as(one.id, '/v1/events?limit=1')).status).not.toBe(401);
      return (await idle.sessions()).length === 0;
    });
    expect((await idle.as(two.id, '/v1/sends')).status).toBe(401);
    expect((await used.sessions()).length).toBe(1);
  });

  it('is not extended by requests that the user did not cause, such as the repeated reads of an open page', async () => {
    gateway = await start({ ...SESSION_LIMITS, idleMs: 1_000, renewMs: 50 });
    browser = new ConsoleBrowser(gateway);
    const { id } = await browser.signIn();
    const unattended = { headers: { 'x-tidings-unattended': '1' } };
    expect((await browser.as(id, '/v1/events?limit=1', unattended)).status).not.toBe(401);
    await eventually(
      'the session ends',
      async () => (await browser.as(id, '/v1/events?limit=1', unattended)).status === 401,
    );
  });

  it('ends after its maximum lifetime even if it is used', async () => {
    gateway = await start({ idleMs: 1_000, lifetimeMs: 1_500, renewMs: 50 });
    browser = new ConsoleBrowser(gateway);
    const { id, expiresAt } = await browser.signIn();
    await eventually(
      'the session ends',
      async () => (await browser.as(id, '/v1/events?limit=1')).status === 401,
    );
    expect(Math.abs(Date.now() - Date.parse(expiresAt))).toBeLessThan(1_000);
  });
});
