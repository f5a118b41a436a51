import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { RedisUpstreamHealth } from '#relay';
import {
  FAILURES_UNTIL_BREAKER_OPENS,
  BudgetExhaustedError,
  UpstreamConnectionLostError,
  UpstreamReplyUnreadableError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnreachableError,
} from '#upstream';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { json, KEY, OTHER_KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { makeToken } from '../fixtures/tokens.js';
import { UpstreamReads } from './upstream-reads.js';

let redis: TestRedis;
let gateway: TestGateway;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url, environment: { READ_CACHE_MS: '0' } });
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

beforeEach(async () => {
  gateway.upstream.calls.length = 0;
  gateway.upstream.fault = undefined;
  gateway.upstream.reply = undefined;
  await gateway.redis.flushall();
  gateway.budget.fault = undefined;
});

/** Adds the account of {@link OTHER_KEY}. */
async function addOtherAccount(): Promise<void> {
  const account = { id: 'other', baseUrl: 'http://upstream.invalid/v1', apiKey: 'other-upstream-key' };
  expect((await gateway.fetch('/v1/accounts', json(account))).status).toBe(201);
}

async function read(path: string, from = gateway): Promise<unknown> {
  const response = await from.fetch(path);
  expect(response.status).toBe(200);
  return await response.json();
}

describe('Contacts', () => {
  it('are returned as upstream returns them, except that ids become text', async () => {
    gateway.upstream.contacts = [{ id: 7, name: 'Ada', extra: { deep: [1, null] } }, { id: 'b' }];
    expect(await read('/v1/contacts')).toEqual({
      contacts: [{ id: '7', name: 'Ada', extra: { deep: [1, null] } }, { id: 'b' }],
    });
    expect(await read('/v1/contacts/7')).toEqual({ id: '7', name: 'Ada', extra: { deep: [1, null] } });
    expect(await problemOf(await gateway.fetch('/v1/contacts/8'))).toMatchObject({
      status: 404,
      code: 'not_found',
    });
  });

  it('are read from upstream only once for several simultaneous callers', async () => {
    let release = (): void => undefined;
    gateway.upstream.hold = new Promise((resolve) => {
      release = resolve;
    });
    const asked = jest.spyOn(gateway.app.get(UpstreamReads), 'contacts');
    const reads = Array.from({ length: 20 }, () => read('/v1/contacts'));
    await eventually('all requests have arrived', () => asked.mock.calls.length === reads.length);
    release();
    await Promise.all(reads);
    expect(gateway.upstream.calls).toEqual(['contacts']);
    await read('/v1/contacts');
    expect(gateway.upstream.calls).toEqual(['contacts', 'contacts']);
  });
});

describe('The body of a list from upstream', () => {
  it.each([
    [
      '{"total":2,"contacts":[{"id":"a","n":1.0,"big":12345678901234567890},null,{"name":"no id"}]}',
      undefined,
    ],
    ['[{"id":"a","n":1.0}]', '{"contacts":[{"id":"a","n":1.0}]}'],
    ['{"data":[{"id":"a"}],"next":"x"}', '{"next":"x","contacts":[{"id":"a"}]}'],
    ['{"data":{"contacts":[{"id":"a"}],"page":1},"ok":true}', '{"ok":true,"page":1,"contacts":[{"id":"a"}]}'],
    [
      '{"contacts":[{"id":7},42,{"id":12345678901234567890}],"n":1}',
      '{"n":1,"contacts":[{"id":"7"},42,{"id":"12345678901234567890"}]}',
    ],
  ])(
    'keeps all fields unchanged, except that ids become text and the list is named contacts or messages: %s',
    async (said, shown = said) => {
      gateway.upstream.reply = said;
      // Damaged elements are passed on as well, although the documentation describes only valid elements.
      const unchecked = (path: string): Promise<Response> =>
        fetch(`${gateway.url}${path}`, { headers: { 'x-api-key': KEY } });
      const response = await unchecked('/v1/contacts');
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(await response.text()).toBe(shown);
      gateway.upstream.reply = said.replace('contacts', 'messages');
      const messages = await (await unchecked('/v1/contacts/a/messages')).text();
      expect(messages).toBe(shown.replace('contacts', 'messages'));
    },
  );

  it('that contains no array of contacts or messages causes 502 upstream_error', async () => {
    for (const said of ['', '<html>', '{"contacts":{}}', '{"people":[]}', '"x"']) {
      gateway.upstream.reply = said;
      for (const path of ['/v1/contacts', '/v1/contacts/a', '/v1/contacts/a/messages'])
        expect(await problemOf(await gateway.fetch(path))).toMatchObject({
          status: 502,
          code: 'upstream_error',
        });
    }
  });

  it('that is nested too deeply to be serialized causes 502 upstream_error', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    gateway.upstream.reply = `{"data":[{"id":1,"x":${deep}}]}`;
    for (const path of ['/v1/contacts', '/v1/contacts/1'])
      expect(await problemOf(await gateway.fetch(path))).toMatchObject({
        status: 502,
        code: 'upstream_error',
      });
  });

  it('is returned unchanged by GET /v1/contacts if CONTACTS_SHAPE is "upstream", whatever JSON it contains; other endpoints are not affected', async () => {
    const environment = { CONTACTS_SHAPE: 'upstream', READ_CACHE_MS: '0' };
    await using plain = await startTestGateway({ redisUrl: redis.url, environment });
    for (const said of [
      '[{"id":7, "n":1.0}]',
      '{"people": [ ]}',
      '{"data":[{"id":7}]}',
      '{"contacts":[{"id":7}]}',
    ]) {
      plain.upstream.reply = said;
      expect(await (await plain.fetch('/v1/contacts')).text()).toBe(said);
    }
    plain.upstream.reply = '{"data":[{"id":7}]}';
    expect(await read('/v1/contacts/7', plain)).toEqual({ id: '7' });
    expect(await read('/v1/contacts/7/messages', plain)).toEqual({ messages: [{ id: '7' }] });
    plain.upstream.reply = '<html>';
    expect(await problemOf(await plain.fetch('/v1/contacts'))).toMatchObject({
      status: 502,
      code: 'upstream_error',
    });
  });
});

describe('An undocumented query parameter', () => {
  it('is passed on to upstream by endpoints that upstream also has, and rejected by GET /v1/contacts/{id}, which upstream does not have', async () => {
    await read('/v1/contacts?since=2030&tag=b&tag=a&a%5Bb%5D=%26%3D');
    await read('/v1/contacts?page=2&limit=5');
    await read('/v1/contacts/x/messages?order=asc&limit=5');
    expect(gateway.upstream.calls).toEqual([
      'contacts a[b]=&= since=2030 tag=b tag=a',
      'contacts limit=5 page=2',
      'messages x page=1 limit=5 order=asc',
    ]);
    const problem = await problemOf(await gateway.fetch('/v1/contacts/x?since=2030'));
    expect(problem.errors).toEqual([{ field: 'since', message: 'is not a known field' }]);
  });
});

describe('A repeated read of contacts or messages', () => {
  it('within READ_CACHE_MS returns the last response with an Age header, if path and parameters are equal; errors are not reused', async () => {
    const environment = { READ_CACHE_MS: '300000' };
    await using caching = await startTestGateway({ redisUrl: redis.url, environment });
    const ask = (path: string): Promise<Response> => caching.fetch(path);
    for (const path of ['/v1/contacts', '/v1/contacts/a/messages', '/v1/contacts/a/messages?page=2']) {
      caching.upstream.calls.length = 0;
      caching.upstream.fault = new UpstreamTimeoutError(1);
      expect((await ask(path)).status).toBe(504);
      caching.upstream.fault = undefined;
      const [first, second] = [await ask(path), await ask(path)];
      expect(first.headers.get('age')).toBeNull();
      expect(second.headers.get('age')).toMatch(/^\d+$/);
      expect(await second.text()).toBe(await first.text());
      expect(caching.upstream.calls).toHaveLength(2);
    }
    caching.upstream.calls.length = 0;
    caching.upstream.contacts = [{ id: 'new' }];
    expect(await problemOf(await ask('/v1/contacts/new'))).toMatchObject({ status: 404 });
    expect((await ask('/v1/contacts?fresh=1')).headers.get('age')).toBeNull();
    expect(caching.upstream.calls).toEqual(['contacts fresh=1']);
  });

  it('within READ_CACHE_MS returns a new response from upstream if the last response was for a different account', async () => {
    await addOtherAccount();
    const environment = { READ_CACHE_MS: '300000' };
    await using caching = await startTestGateway({ redisUrl: redis.url, environment });
    caching.upstream.contacts = [{ id: 'of-the-first-account' }];
    for (const path of ['/v1/contacts', '/v1/contacts/of-the-first-account', '/v1/contacts/a/messages'])
      expect((await caching.fetch(path)).status).toBe(200);
    caching.upstream.calls.length = 0;
    caching.upstream.contacts = [{ id: 'of-the-other-account' }];
    const list = await caching.fetch('/v1/contacts', { key: OTHER_KEY });
    expect(list.headers.get('age')).toBeNull();
    expect(await list.json()).toEqual({ contacts: [{ id: 'of-the-other-account' }] });
    const contact = await caching.fetch('/v1/contacts/of-the-first-account', { key: OTHER_KEY });
    expect(await problemOf(contact)).toMatchObject({ status: 404 });
    const messages = await caching.fetch('/v1/contacts/a/messages', { key: OTHER_KEY });
    expect(messages.headers.get('age')).toBeNull();
    expect(caching.upstream.calls).toEqual(['contacts', 'messages a page=1 limit=20']);
  });

  it('after READ_CACHE_MS returns a new response from upstream', async () => {
    const environment = { READ_CACHE_MS: '50' };
    await using caching = await startTestGateway({ redisUrl: redis.url, environment });
    await read('/v1/contacts', caching);
    caching.upstream.contacts = [{ id: 'new' }];
    await eventually('the new contact is listed', async () =>
      JSON.stringify(await read('/v1/contacts', caching)).includes('new'),
    );
  });
});

describe('Messages of a contact', () => {
  it('are returned in pages, of 20 messages by default', async () => {
    gateway.upstream.messages = [{ id: 'm', status: { read: true }, unheard: 'of' }];
    expect(await read('/v1/contacts/a%2Fb/messages')).toEqual({
      messages: [{ id: 'm', status: { read: true }, unheard: 'of' }],
    });
    await read('/v1/contacts/a/messages?page=3&limit=100');
    expect(gateway.upstream.calls).toEqual(['messages a/b page=1 limit=20', 'messages a page=3 limit=100']);
  });

  it.each([
    'page=0',
    'page=-1',
    'page=x',
    'limit=0',
    'limit=101',
    'limit=1e1',
    'limit=1&limit=2',
    'Limit=1',
    'pa-ge=1',
    '1x=1',
    'x=%00',
    `x=${'y'.repeat(2_048)}`,
    Array.from({ length: 21 }, () => 'x=1').join('&'),
  ])('cannot be read with the invalid query %s', async (query) => {
    const problem = await problemOf(await gateway.fetch(`/v1/contacts/a/messages?${query}`));
    expect(problem).toMatchObject({ status: 400, code: 'validation_failed' });
    expect(problem.errors?.map(({ field }) => field)).toEqual([query.split('=')[0]]);
  });

  it('are not returned if the query parameter `limit` occurs twice', async () => {
    const problem = await problemOf(await gateway.fetch('/v1/contacts/a/messages?page=1&limit=2&limit=2'));
    expect(problem.errors).toEqual([{ field: 'limit', message: 'must occur only once in the request' }]);
  });

  it.each([404, 410, 416])(
    'get 404 if upstream answers %i, because the contact or the page does not exist',
    async (status) => {
      gateway.upstream.fault = new UpstreamStatusError(status, 'no such page', undefined);
      expect(await problemOf(await gateway.fetch('/v1/contacts/x/messages?page=2'))).toMatchObject({
        ...{ status: 404, code: 'not_found' },
      });
    },
  );

  it('cannot be read for an id that would change the path of the upstream request (404)', async () => {
    const calls = gateway.upstream.calls.length;
    const response = await gateway.app
      .getHttpAdapter()
      .getInstance()
      .inject({ url: '/v1/contacts/%2e%2e/messages', headers: { 'x-api-key': 'a-key-with-every-scope' } });
    expect(response.statusCode).toBe(404);
    expect(gateway.upstream.calls.length).toBe(calls);
  });
});

describe('A failing upstream', () => {
  it.each([
    [new UpstreamStatusError(500, 'boom', undefined), 502, 'upstream_error', null],
    [new UpstreamStatusError(401, 'who', undefined), 502, 'upstream_error', null],
    [new UpstreamStatusError(404, 'no such path', undefined), 502, 'upstream_error', null],
    [new UpstreamStatusError(429, 'slow', 7_100), 503, 'upstream_unavailable', '8'],
    [new UpstreamStatusError(503, 'later', undefined), 503, 'upstream_unavailable', '5'],
    [new UpstreamUnreachableError('ECONNREFUSED'), 503, 'upstream_unavailable', '5'],
    [new UpstreamConnectionLostError('ECONNRESET'), 502, 'upstream_error', null],
    [new UpstreamReplyUnreadableError('it is not JSON'), 502, 'upstream_error', null],
    [new UpstreamTimeoutError(10_000), 504, 'upstream_timeout', null],
  ])('with the error %s causes the response %i %s', async (fault, status, code, retryAfter) => {
    gateway.upstream.fault = fault;
    const response = await gateway.fetch('/v1/contacts');
    expect(response.headers.get('retry-after')).toBe(retryAfter);
    expect(await problemOf(response)).toMatchObject({ status, code });
  });

  it('that is known to be down gets no requests: callers get 503 immediately', async () => {
    const health = new RedisUpstreamHealth(gateway.redis, 'tidings');
    for (const kind of ['away', 'refused'] as const) {
      await health.recordOutage('default', kind, 'it burns');
      for (const path of ['/v1/contacts', '/v1/contacts/a', '/v1/contacts/a/messages']) {
        const response = await gateway.fetch(path);
        expect(response.headers.get('retry-after')).toBe('5');
        expect(await problemOf(response)).toMatchObject({ status: 503, code: 'upstream_unavailable' });
      }
      await gateway.redis.flushall();
    }
    expect(gateway.upstream.calls).toEqual([]);
  });

  it('that answers 401 is recorded as an outage; an answer with 429 only reduces the request budget', async () => {
    const health = new RedisUpstreamHealth(gateway.redis, 'tidings');
    gateway.budget.shrunk = 0;
    gateway.upstream.fault = new UpstreamStatusError(429, 'slow', undefined);
    await gateway.fetch('/v1/contacts');
    expect(gateway.budget.shrunk).toBe(1);
    expect(await health.outage('default')).toBeUndefined();
    gateway.upstream.fault = new UpstreamStatusError(401, 'who', undefined);
    await gateway.fetch('/v1/contacts');
    expect(await health.outage('default')).toMatchObject({ kind: 'refused' });
  });

  it('is not recorded as down if only requests with undocumented parameters fail', async () => {
    for (const fault of [new UpstreamStatusError(500, '', undefined), new UpstreamTimeoutError(1)]) {
      gateway.upstream.fault = fault;
      for (let i = 0; i < 2 * FAILURES_UNTIL_BREAKER_OPENS; i += 1)
        await gateway.fetch(`/v1/contacts?break=${i}`);
    }
    expect(await new RedisUpstreamHealth(gateway.redis, 'tidings').outage('default')).toBeUndefined();
    gateway.upstream.fault = undefined;
    await read('/v1/contacts');
  });

  it('that hangs gets at most 100 simultaneous reads per account; a further read of that account gets 503', async () => {
    await addOtherAccount();
    let release = (): void => undefined;
    gateway.upstream.hold = new Promise((resolve) => {
      release = resolve;
    });
    const reads = Array.from({ length: 100 }, (_, i) => gateway.fetch(`/v1/contacts?n=${i}`));
    await eventually('all requests are running', () => gateway.upstream.calls.length === 100);
    const response = await gateway.fetch('/v1/contacts?n=100');
    expect(await problemOf(response)).toMatchObject({ status: 503, code: 'upstream_unavailable' });
    const other = gateway.fetch('/v1/contacts?n=100', { key: OTHER_KEY });
    await eventually('the read of another account is running', () => gateway.upstream.calls.length === 101);
    release();
    expect(new Set((await Promise.all([...reads, other])).map(({ status }) => status))).toEqual(
      new Set([200]),
    );
    await read('/v1/contacts?n=100');
  });
});

describe('Reads of callers with tokens', () => {
  const CONTACT = '/v1/contacts/own/messages';
  const tokenOf = async (from: TestGateway): Promise<string> =>
    (await makeToken(from, { scopes: ['messages:read'], contactIds: ['own'] })).token;

  it('are limited to 10 at the same time with one token, and leave the rest to API keys', async () => {
    const token = await tokenOf(gateway);
    let release = (): void => undefined;
    gateway.upstream.hold = new Promise((resolve) => {
      release = resolve;
    });
    const reads = Array.from({ length: 11 }, (_, i) => gateway.fetch(`${CONTACT}?page=${i + 1}`, { token }));
    const refused = await Promise.race(reads);
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(await problemOf(refused)).toMatchObject({
      ...{ status: 429, code: 'rate_limited' },
      detail: 'The token has reached its limit of simultaneous reads from the messaging service.',
    });
    const service = gateway.fetch('/v1/contacts/other/messages');
    await eventually('the read of the API key is running', () =>
      gateway.upstream.calls.includes('messages other page=1 limit=20'),
    );
    release();
    const statuses = (await Promise.all([...reads, service])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([...Array<number>(11).fill(200), 429]);
    await (await gateway.fetch(CONTACT, { token })).text();
  });

  it('use at most half of the request budget of the account, so that API keys keep the rest', async () => {
    const environment = { READ_CACHE_MS: '0', UPSTREAM_REQUESTS_PER_SECOND: '0.1' };
    await using slow = await startTestGateway({ redisUrl: redis.url, environment });
    const token = await tokenOf(slow);
    for (let page = 1; page <= 5; page += 1)
      expect((await slow.fetch(`${CONTACT}?page=${page}`, { token })).status).toBe(200);
    const refused = await slow.fetch(`${CONTACT}?page=6`, { token });
    expect(await problemOf(refused)).toMatchObject({ status: 503, code: 'upstream_unavailable' });
    expect((await slow.fetch(`${CONTACT}?page=6`)).status).toBe(200);
  });
});

it('an exhausted request budget causes 503 upstream_unavailable', async () => {
  gateway.budget.fault = new BudgetExhaustedError(1_500);
  const response = await gateway.fetch('/v1/contacts');
  expect(response.headers.get('retry-after')).toBe('2');
  expect(await problemOf(response)).toMatchObject({ status: 503, code: 'upstream_unavailable' });
});
