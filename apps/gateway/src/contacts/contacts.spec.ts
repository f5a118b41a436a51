import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  BudgetExhaustedError,
  UpstreamConnectionLostError,
  UpstreamReplyError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnreachableError,
} from '#upstream';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { problemIn, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { UpstreamReads } from './upstream-reads.js';

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

beforeEach(() => {
  gateway.upstream.calls.length = 0;
  gateway.upstream.fault = undefined;
  gateway.budget.fault = undefined;
});

async function read(path: string): Promise<unknown> {
  const response = await gateway.fetch(path);
  expect(response.status).toBe(200);
  return await response.json();
}

describe('Contacts', () => {
  it('pass through as upstream shows them, their ids as text', async () => {
    gateway.upstream.contacts = [{ id: 7, name: 'Ada', extra: { deep: [1, null] } }, { id: 'b' }];
    expect(await read('/v1/contacts')).toEqual({
      contacts: [{ id: '7', name: 'Ada', extra: { deep: [1, null] } }, { id: 'b' }],
    });
    expect(await read('/v1/contacts/7')).toEqual({ id: '7', name: 'Ada', extra: { deep: [1, null] } });
    expect(await problemIn(await gateway.fetch('/v1/contacts/8'))).toMatchObject({
      status: 404,
      code: 'not_found',
    });
  });

  it('read by many at the same moment cost one upstream call', async () => {
    let release = (): void => undefined;
    gateway.upstream.hold = new Promise((resolve) => {
      release = resolve;
    });
    const asked = jest.spyOn(gateway.app.get(UpstreamReads), 'contacts');
    const reads = Array.from({ length: 20 }, () => read('/v1/contacts'));
    await eventually('all have asked', () => asked.mock.calls.length === reads.length);
    release();
    await Promise.all(reads);
    expect(gateway.upstream.calls).toEqual(['contacts']);
    await read('/v1/contacts');
    expect(gateway.upstream.calls).toEqual(['contacts', 'contacts']);
  });
});

describe('Messages of a contact', () => {
  it('come a page at a time, 20 unless asked otherwise', async () => {
    gateway.upstream.messages = [{ id: 'm', status: { read: true }, unheard: 'of' }];
    expect(await read('/v1/contacts/a%2Fb/messages')).toEqual({
      messages: [{ id: 'm', status: { read: true }, unheard: 'of' }],
    });
    await read('/v1/contacts/a/messages?page=3&limit=100');
    expect(gateway.upstream.calls).toEqual(['messages a/b 1 20', 'messages a 3 100']);
  });

  it.each([
    'page=0',
    'page=-1',
    'page=x',
    'limit=0',
    'limit=101',
    'limit=1e1',
    'limit=1&limit=2',
    'nonsense=1',
  ])('are refused for %s', async (query) => {
    const problem = await problemIn(await gateway.fetch(`/v1/contacts/a/messages?${query}`));
    expect(problem).toMatchObject({ status: 400, code: 'validation_failed' });
    expect(problem.errors?.map(({ field }) => field)).toEqual([query.split('=')[0]]);
  });

  it('of a contact that upstream does not know, or whose id would be another address, are 404', async () => {
    gateway.upstream.fault = new UpstreamStatusError(404, 'no such contact', undefined);
    expect(await problemIn(await gateway.fetch('/v1/contacts/x/messages'))).toMatchObject({
      code: 'not_found',
    });
    const calls = gateway.upstream.calls.length;
    const response = await gateway.app
      .getHttpAdapter()
      .getInstance()
      .inject({ url: '/v1/contacts/%2e%2e/messages', headers: { 'x-api-key': 'a-key-with-every-scope' } });
    expect(response.statusCode).toBe(404);
    expect(gateway.upstream.calls.length).toBe(calls);
  });
});

describe('An upstream in trouble', () => {
  it.each([
    [new UpstreamStatusError(500, 'boom', undefined), 502, 'upstream_error', null],
    [new UpstreamStatusError(401, 'who', undefined), 502, 'upstream_error', null],
    [new UpstreamStatusError(404, 'no such path', undefined), 502, 'upstream_error', null],
    [new UpstreamStatusError(429, 'slow', 7_100), 503, 'upstream_unavailable', '8'],
    [new UpstreamStatusError(503, 'later', undefined), 503, 'upstream_unavailable', '5'],
    [new UpstreamUnreachableError('ECONNREFUSED'), 503, 'upstream_unavailable', '5'],
    [new UpstreamConnectionLostError('ECONNRESET'), 502, 'upstream_error', null],
    [new UpstreamReplyError('it is not JSON'), 502, 'upstream_error', null],
    [new UpstreamTimeoutError(10_000), 504, 'upstream_timeout', null],
  ])('%s is answered %i %s', async (fault, status, code, retryAfter) => {
    gateway.upstream.fault = fault;
    const response = await gateway.fetch('/v1/contacts');
    expect(response.headers.get('retry-after')).toBe(retryAfter);
    expect(await problemIn(response)).toMatchObject({ status, code });
  });

  it('or a budget that is used up, is answered 503 upstream_unavailable', async () => {
    gateway.budget.fault = new BudgetExhaustedError(1_500);
    const response = await gateway.fetch('/v1/contacts');
    expect(response.headers.get('retry-after')).toBe('2');
    expect(await problemIn(response)).toMatchObject({ status: 503, code: 'upstream_unavailable' });
  });
});
