import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/eventually.js';
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
import { askForToken, makeKey, makeToken } from '../fixtures/tokens.js';

const ORIGIN = 'https://app.example.com';
const LIMITS = { RATE_LIMIT_PER_MINUTE: '40', TOKEN_RATE_LIMIT_PER_MINUTE: '10' };
const SEND = json({ phoneNumber: '+14155550123', message: 'hi' });

let server: TestRedis;
let one: TestGateway;
let two: TestGateway;

beforeAll(async () => {
  server = await startTestRedis();
  const environment = { ...LIMITS, CORS_ORIGINS: ORIGIN };
  [one, two] = (await Promise.all(
    [server, server].map(({ url }) => startTestGateway({ redisUrl: url, environment })),
  )) as [TestGateway, TestGateway];
});
afterAll(async () => {
  await Promise.all([one.dispose(), two.dispose()]);
  await server.dispose();
});
beforeEach(async () => {
  await one.redis.flushall();
  one.log.length = 0;
});

const used = async (gateway: TestGateway, token: string): Promise<number> =>
  (await gateway.fetch('/v1/sends', { token })).status;
const revoke = (id: string, key = KEY): Promise<Response> =>
  one.fetch(`/v1/tokens/${id}`, { method: 'DELETE', key });

describe('a token', () => {
  it('is shown once, gives access at every gateway until it is revoked, and is stored only as a hash', async () => {
    const reply = await askForToken(one);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    const { id, token, expiresAt, ...rest } = (await reply.json()) as Record<string, string>;
    expect([reply.status, rest]).toEqual([201, {}]);
    expect([id, token]).toEqual([
      expect.stringMatching(/^tok_\w{32}$/),
      expect.stringMatching(/^tt_[\w-]{43}$/),
    ]);
    expect(Math.abs(Date.parse(String(expiresAt)) - Date.now() - 900_000)).toBeLessThan(5_000);
    expect(await Promise.all([used(one, String(token)), used(two, String(token))])).toEqual([200, 200]);
    for (const name of await one.redis.keys('*')) {
      const stored = await one.redis.dump(name);
      expect([name, name.includes(String(token)), stored.includes(String(token))]).toEqual([
        name,
        false,
        false,
      ]);
    }
    expect((await revoke(String(id))).status).toBe(204);
    expect(await Promise.all([used(one, String(token)), used(two, String(token))])).toEqual([401, 401]);
    expect(await problemOf(await revoke(String(id)))).toMatchObject({ status: 404, code: 'not_found' });
  });

  it('permits only what its scopes permit; the error 403 names the missing scope', async () => {
    const { token } = await makeToken(one, { scopes: ['messages:send'] });
    expect((await one.fetch('/v1/messages/send', { ...SEND, token })).status).toBe(200);
    const beyond = await problemOf(await one.fetch('/v1/events', { token }));
    expect(beyond).toMatchObject({ status: 403, code: 'forbidden' });
    expect(beyond.detail).toContain('events:read');
    for (const path of ['/v1/status', '/v1/webhooks', '/v1/api-keys', '/v1/accounts'])
      expect((await one.fetch(path, { token })).status).toBe(403);
    expect((await one.fetch('/metrics', { token, headers: { via: 'a proxy' } })).status).toBe(401);
  });

  it('can neither create nor revoke tokens', async () => {
    const { id, token } = await makeToken(one);
    const create = await one.fetch('/v1/tokens', { ...json({ scopes: ['events:read'] }), token });
    expect(await problemOf(create)).toMatchObject({ status: 403, code: 'forbidden' });
    const remove = await one.fetch(`/v1/tokens/${id}`, { method: 'DELETE', token });
    expect(await problemOf(remove)).toMatchObject({ status: 403, code: 'forbidden' });
    expect(await used(one, token)).toBe(200);
  });

  it('can have only scopes that its API key has; the API key needs no other scope to create the token', async () => {
    const { key } = await makeKey(one, { scopes: ['events:read', 'webhooks:manage'] });
    expect((await askForToken(one, { scopes: ['events:read'] }, key)).status).toBe(201);
    const beyond = await problemOf(await askForToken(one, { scopes: ['events:read', 'messages:send'] }, key));
    expect(beyond).toMatchObject({ status: 403, code: 'forbidden' });
    expect(beyond.detail).toContain('messages:send');
    const { key: admin } = await makeKey(one, { scopes: ['admin'] });
    for (const powerless of [admin, EMPTY_KEY])
      expect((await askForToken(one, { scopes: ['events:read'] }, powerless)).status).toBe(403);
  });

  it('stops working at every gateway when its API key is revoked, and expires no later than its API key', async () => {
    const { id, key } = await makeKey(one);
    const { token } = await makeToken(one, {}, key);
    expect(await used(two, token)).toBe(200);
    await one.fetch(`/v1/api-keys/${id}`, { method: 'DELETE' });
    expect(await Promise.all([used(one, token), used(two, token)])).toEqual([401, 401]);
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const short = await makeKey(one, { expiresAt });
    expect((await makeToken(one, { expiresInSeconds: 3_600 }, short.key)).expiresAt).toBe(expiresAt);
  });

  it('stops working when it expires, and can then no longer be revoked: 404', async () => {
    const { id, token } = await makeToken(one, { expiresInSeconds: 60 });
    const name = `tidings:{.accounts}:token:${id}`;
    expect(await one.redis.pttl(name)).toBeGreaterThan(50_000);
    // Simulates the end of the minute.
    await one.redis.pexpireat(name, 1);
    expect(await Promise.all([used(one, token), used(two, token)])).toEqual([401, 401]);
    expect((await revoke(id)).status).toBe(404);
  });

  it('belongs to its account: other accounts cannot revoke the token, and the token cannot read their data', async () => {
    const { id, token } = await makeToken(one, {}, OTHER_KEY);
    const sent = await one.fetch('/v1/messages/send', SEND);
    expect((await one.fetch(String(sent.headers.get('location')), { token })).status).toBe(404);
    expect((await revoke(id)).status).toBe(404);
    expect(await used(one, token)).toBe(200);
    expect((await revoke(id, OTHER_KEY)).status).toBe(204);
  });

  it.each([
    [{ scopes: [] }, 'scopes', 'messages:send'],
    [{ scopes: ['admin'] }, 'scopes', 'messages:send'],
    [{ scopes: ['events:read', 'events:read'] }, 'scopes', 'without repetition'],
    [{ scopes: 'events:read' }, 'scopes', 'list'],
    [{ contactIds: [] }, 'contactIds', 'omit the field'],
    [{ contactIds: Array.from({ length: 101 }, String) }, 'contactIds', '1 to 100'],
    [{ contactIds: ['', 'a'] }, 'contactIds', 'contact ids'],
    [{ contactIds: Array.from({ length: 100 }, () => 'x'.repeat(200)) }, 'contactIds', 'bytes'],
    [{ expiresInSeconds: 0 }, 'expiresInSeconds', 'from 1 to 86400'],
    [{ expiresInSeconds: 86_401 }, 'expiresInSeconds', 'from 1 to 86400'],
    [{ expiresInSeconds: '900' }, 'expiresInSeconds', 'whole number'],
    [{ contacts: ['a'] }, 'contacts', 'is not a known field'],
  ])(
    'with the invalid fields %j is not created, and the error names the field and the remedy',
    async (body, field, remedy) => {
      const problem = await problemOf(await askForToken(one, body));
      expect(problem).toMatchObject({ status: 400, errors: [{ field }] });
      expect(problem.detail).toContain(remedy);
    },
  );

  it('is not created if its API key has the maximum number of tokens; the error 409 names the remedy', async () => {
    const soon = Date.now() + 60_000;
    const ids = Array.from({ length: 10_000 }, (_, i) => [soon, `tok_${i}`]);
    await one.redis.zadd(`tidings:{.accounts}:tokens-of:id-of-${KEY}`, ...ids.flat());
    const problem = await problemOf(await askForToken(one));
    expect(problem).toMatchObject({ status: 409, code: 'conflict' });
    expect(problem.detail).toContain('Revoke a token');
    expect((await askForToken(one, {}, OTHER_KEY)).status).toBe(201);
  });
});

describe('the authentication of a request', () => {
  it('fails with 401 if the credential is invalid; for an invalid token, the response has a WWW-Authenticate header', async () => {
    const { token } = await makeToken(one);
    const unknown = await one.fetch('/v1/sends', { token: `${token.slice(0, -1)}_` });
    expect(unknown.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    const problem = await problemOf(unknown);
    expect(problem).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect(problem.detail).not.toContain(token.slice(3, 20));
    for (const authorization of [`Bearer ${KEY}`, `Bearer`, `Basic ${token}`, token]) {
      const reply = await one.fetch('/v1/sends', { key: null, headers: { authorization } });
      expect([authorization, reply.status]).toEqual([authorization, 401]);
    }
    expect((await one.fetch('/v1/sends', { key: token })).status).toBe(401);
    for (const where of [`?token=${token}`, `?access_token=${token}`])
      expect((await one.fetch(`/v1/sends${where}`, { key: null })).status).toBe(401);
    const lowerCase = { authorization: `bearer ${token}` };
    expect((await one.fetch('/v1/sends', { key: null, headers: lowerCase })).status).toBe(200);
  });

  it('fails with 401 and a WWW-Authenticate header if the token is revoked during a long poll', async () => {
    const { id, token } = await makeToken(one);
    const poll = two.fetch('/v1/events?after=now&wait=20', { token });
    await eventually(
      'the token is accepted',
      async () => (await one.redis.exists(`tidings:rate:${id}`)) === 1,
    );
    await revoke(id);
    const { status, headers } = await poll;
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer error="invalid_token"']);
  });

  it('fails with 401 if the request has a valid API key and a valid token; both headers may contain the same credential, and Authorization may contain a credential of another system', async () => {
    const { token } = await makeToken(one);
    const problem = await problemOf(await one.fetch('/v1/sends', { token, key: KEY }));
    expect(problem).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect(problem.detail).toContain('not both');
    // These are for somebody else, such as a proxy. Generated clients may send the same text in both headers.
    for (const authorization of ['Basic eDp5', 'Bearer eyJhbGciOiJub25lIn0.e30.', `Bearer ${KEY}`])
      expect((await one.fetch('/v1/sends', { headers: { authorization } })).status).toBe(200);
    expect((await one.fetch('/v1/sends', { token, key: token })).status).toBe(200);
  });
});

describe('the rate limit of a token', () => {
  const limitHeaders = ({ headers }: Response): number[] =>
    ['limit', 'remaining'].map((name) => Number(headers.get(`ratelimit-${name}`)));

  it('is shared by all gateways; a request above the limit gets 429, and does not count towards the limit of the API key', async () => {
    const { key } = await makeKey(one);
    const [first, second] = [await makeToken(one, {}, key), await makeToken(one, {}, key)];
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? one : two).fetch('/v1/sends', first)),
    );
    const statuses = replies.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array<number>(10).fill(200), ...Array<number>(10).fill(429)]);
    const refused = await one.fetch('/v1/sends', first);
    expect(limitHeaders(refused)).toEqual([10, 0]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const problem = await problemOf(refused);
    expect(problem).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(problem.detail).toContain('The token has reached its limit of 10');
    expect(limitHeaders(await one.fetch('/v1/sends', second))).toEqual([10, 9]);
    // The two requests that created the tokens, ten of the first token, one of the second, and this one.
    expect(limitHeaders(await one.fetch('/v1/sends', { key }))).toEqual([40, 26]);
  });

  it('does not replace the limit of the API key: a token also gets 429 when its API key has reached that limit', async () => {
    const { key } = await makeKey(one);
    const { token } = await makeToken(one, {}, key);
    await Promise.all(Array.from({ length: 38 }, () => one.fetch('/v1/sends', { key })));
    expect(limitHeaders(await one.fetch('/v1/sends', { token }))).toEqual([40, 0]);
    const problem = await problemOf(await one.fetch('/v1/sends', { token }));
    expect(problem).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(problem.detail).toContain('API key that created the token');
  });
});

describe('a web page of an allowed origin', () => {
  it('may send a token in the header Authorization, and can read the response', async () => {
    const { token } = await makeToken(one);
    const asked = await one.fetch('/v1/sends', {
      method: 'OPTIONS',
      key: null,
      headers: {
        origin: ORIGIN,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization,content-type,idempotency-key,last-event-id',
      },
    });
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, ORIGIN]);
    const allowed = asked.headers.get('access-control-allow-headers')?.split(/, */) ?? [];
    expect(allowed).toEqual(
      expect.arrayContaining(['authorization', 'content-type', 'idempotency-key', 'last-event-id']),
    );
    expect(asked.headers.get('access-control-allow-credentials')).toBeNull();
    const reply = await one.fetch('/v1/sends', { token, headers: { origin: ORIGIN } });
    expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([200, ORIGIN]);
  });
});

describe('the log lines of the gateway', () => {
  it('name the id of the token that a request used, and who created and revoked the token, but never contain the token itself', async () => {
    const { id, token } = await makeToken(one);
    await one.fetch('/v1/sends', { token });
    await one.fetch('/v1/messages/send', { ...json({ phoneNumber: 'x' }), token });
    await one.fetch('/v1/nowhere', { token });
    await one.fetch(`/v1/events?after=${token}`, { token });
    await one.fetch('/v1/sends', { token, key: KEY });
    await revoke(id);
    await one.fetch('/v1/sends', { token });
    const lines = one.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ msg }) => msg === 'action.audited')).toMatchObject([
      { action: 'token.created', subject: id, account: 'default', keyId: `id-of-${KEY}`, fields: ['scopes'] },
      { action: 'token.revoked', subject: id, account: 'default' },
    ]);
    expect(lines.find(({ tokenId }) => tokenId === id)).toMatchObject({
      msg: 'request.ended',
      route: '/v1/sends',
    });
    expect(one.log.join('')).not.toContain(token);
    expect(one.log.join('')).not.toContain(token.slice(3));
  });
});
