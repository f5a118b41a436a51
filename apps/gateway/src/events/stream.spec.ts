import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiKeyAuthenticator, InMemoryApiKeyAuthenticator, API_KEY_SCOPES } from '#accounts';
import { RedisEventLog } from '#events';
import { closeRedis, openRedis, parseRedisAddress } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { revisionIn, type SimpleType, someEvent } from '../fixtures/events.js';
import {
  EMPTY_KEY,
  KEY,
  OTHER_KEY,
  problemOf,
  startTestGateway,
  type TestGateway,
} from '../fixtures/gateway.js';
import { openStream, type StreamClient } from '../fixtures/stream-client.js';
import { API_KEYS, EVENT_WAITS } from '../tokens.js';
import { WAIT_SETTINGS, type WaitSettings } from './wait-settings.js';

const COMMENT_MS = 200;

let redis: TestRedis;
let gateway: TestGateway;
let log: RedisEventLog;
let revision = 0;

const waits = (changes: Partial<WaitSettings>): { provide: symbol; useValue: WaitSettings } => ({
  provide: EVENT_WAITS,
  useValue: { ...WAIT_SETTINGS, ...changes },
});

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url, bound: [waits({ commentMs: COMMENT_MS })] });
  log = new RedisEventLog(gateway.redis, 'tidings');
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

async function append(type: SimpleType = 'message.received', contactId = 'c1'): Promise<number> {
  revision++;
  await log.append('default', [someEvent(type, revision, contactId)]);
  return revision;
}

async function open(
  query = '',
  headers: Record<string, string> = {},
  from: { url: string } = gateway,
): Promise<StreamClient> {
  const client = await openStream(`${from.url}/v1/events/stream${query}`, { 'x-api-key': KEY, ...headers });
  expect(client.response.statusCode).toBe(200);
  return client;
}

const revisionsOf = (client: StreamClient): number[] => client.events().map(revisionIn);
const opened = (client: StreamClient): Promise<string> =>
  eventually('the stream is open', () => client.lastId());
const received = (client: StreamClient, count: number): Promise<true> =>
  eventually(`${count} events are received`, () => client.events().length >= count || undefined);

describe('An event stream', () => {
  it('opens immediately with headers for proxies, a comment, a reconnect delay and the cursor', async () => {
    const client = await open('', { 'x-request-id': 'mine', 'accept-encoding': 'gzip' });
    await opened(client);
    expect(client.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-request-id': 'mine',
    });
    expect(client.response.headers).not.toHaveProperty('content-encoding');
    expect(client.text().startsWith(': ')).toBe(true);
    const retry = client.blocks.find((block) => block.retry !== undefined)?.retry;
    expect(retry).toBeGreaterThanOrEqual(1_000);
    const { next } = (await (await gateway.fetch('/v1/events?after=now')).json()) as { next: string };
    expect(client.lastId()).toBe(next);
    client.disconnect();
  });

  it('sends each new event in one line, with the same bytes as in the event list', async () => {
    await append();
    const client = await open();
    await opened(client);
    const sent = await append('message.sent');
    await received(client, 1);
    const block = client.blocks.find(({ data }) => data !== undefined);
    const list = await (await gateway.fetch(`/v1/events?limit=1000`)).text();
    expect(revisionsOf(client)).toEqual([sent]);
    expect(block?.event).toBe('message.sent');
    expect(list).toContain(`,${String(block?.data)}],`);
    client.disconnect();
  });

  it('resumes after a cursor from the event list; a non-empty Last-Event-ID header takes precedence over the parameter "after"', async () => {
    const { next } = (await (await gateway.fetch('/v1/events?after=now')).json()) as { next: string };
    const [first, second] = [await append(), await append()];
    const all = await open(`?after=${next}`);
    await received(all, 2);
    expect(revisionsOf(all)).toEqual([first, second]);
    const id = String(all.blocks.find(({ data }) => data !== undefined)?.id);
    const later = await open(`?after=${next}`, { 'last-event-id': id });
    const none = await open('?after=now', { 'last-event-id': '' });
    await Promise.all([received(later, 1), opened(none)]);
    expect([revisionsOf(later), revisionsOf(none)]).toEqual([[second], []]);
    for (const client of [all, later, none]) client.disconnect();
  });

  it('is filtered by type and contact, and its cursor advances past excluded events', async () => {
    const client = await open('?types=message.*&contactId=c2');
    const start = await opened(client);
    await append('message.sent', 'c1');
    const wanted = await append('message.sent', 'c2');
    await received(client, 1);
    const told = client.lastId();
    await append('contact.created', 'c2');
    const id = await eventually(
      'an id arrives without an event',
      () => client.lastId() !== told && client.lastId(),
    );
    expect(client.blocks.at(-1)).toEqual({ id, comment: false });
    const { next } = (await (await gateway.fetch('/v1/events?after=now')).json()) as { next: string };
    expect([revisionsOf(client), id]).toEqual([[wanted], next]);
    expect(start).not.toBe(next);
    client.disconnect();
  });

  it('is filtered by message and by send', async () => {
    const ofMessage = await open('?messageId=x');
    const ofSend = await open('?sendId=snd_1');
    await Promise.all([opened(ofMessage), opened(ofSend)]);
    const own = { type: 'message.sent' as const, contactId: 'c1', subject: 'y' };
    const [other, wanted] = [++revision, ++revision];
    await log.append('default', [
      { ...own, revision: other, data: { message: { id: 'y', revision: other }, sendId: 'snd_1' } },
      { ...own, revision: wanted, data: { message: { id: 'x', revision: wanted } } },
    ]);
    await Promise.all([received(ofMessage, 1), received(ofSend, 1)]);
    expect([revisionsOf(ofMessage), revisionsOf(ofSend)]).toEqual([[wanted], [other]]);
    for (const client of [ofMessage, ofSend]) client.disconnect();
  });

  it('sends a comment after each interval without events, and ends if its API key may no longer read events', async () => {
    const valid = {
      keys: new InMemoryApiKeyAuthenticator([
        { id: 'k', key: KEY, account: 'default', scopes: API_KEY_SCOPES },
      ]),
    };
    const keys: ApiKeyAuthenticator = { authenticate: (key) => valid.keys.authenticate(key) };
    await using other = await startTestGateway({
      redisUrl: redis.url,
      bound: [waits({ commentMs: 50 }), { provide: API_KEYS, useValue: keys }],
    });
    const client = await open('', {}, other);
    const comments = (): number => client.blocks.filter(({ comment }) => comment).length;
    await eventually('comments arrive', () => comments() >= 4);
    valid.keys = new InMemoryApiKeyAuthenticator([
      { id: 'k', key: KEY, account: 'default', scopes: ['admin'] },
    ]);
    expect(await client.ended).toBe(true);
    expect((await other.fetch('/v1/events/stream')).status).toBe(403);
  });

  it.each(['after=nonsense', 'after=', 'types=nonsense', 'contactId=', 'messageId=', 'limit=1', 'wait=1'])(
    'does not start with the invalid query %s: the request gets 400',
    async (query) => {
      const problem = await problemOf(await gateway.fetch(`/v1/events/stream?${query}`));
      expect(problem).toMatchObject({ status: 400, code: 'validation_failed' });
      expect(problem.errors?.[0]?.field).toBe(query.split('=')[0]);
    },
  );

  it('is rejected if Last-Event-ID is invalid, or if the request has no API key that may read events', async () => {
    const refused = async (headers: Record<string, string>, key: string | null): Promise<unknown> => {
      const response = await gateway.fetch('/v1/events/stream', { headers, key });
      const { code, errors } = await problemOf(response);
      return [code, errors?.[0]?.field];
    };
    expect(await refused({ 'last-event-id': 'now' }, KEY)).toEqual(['validation_failed', 'Last-Event-ID']);
    expect(await refused({}, null)).toEqual(['unauthenticated', undefined]);
    expect(await refused({}, 'nobody')).toEqual(['unauthenticated', undefined]);
    expect(await refused({}, EMPTY_KEY)).toEqual(['forbidden', undefined]);
  });

  it('sends no events of other accounts', async () => {
    const client = await open('', { 'x-api-key': OTHER_KEY });
    await opened(client);
    await append();
    await log.append('other', [someEvent('message.sent', 1)]);
    await received(client, 1);
    expect(client.blocks.flatMap(({ event }) => event ?? [])).toEqual(['message.sent']);
    client.disconnect();
  });

  it('answers a HEAD request with headers only', async () => {
    const response = await gateway.fetch('/v1/events/stream', { method: 'HEAD' });
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    expect(await response.text()).toBe('');
  });

  it('is logged in one line, whether the client disconnects or the gateway stops', async () => {
    const lines = (id: string): string[] => gateway.log.filter((line) => line.includes(id));
    const client = await open('', { 'x-request-id': 'hung-up-on' });
    await opened(client);
    client.disconnect();
    await eventually('the disconnect is logged', () => lines('hung-up-on').length > 0);
    await using other = await startTestGateway({ redisUrl: redis.url });
    const second = await open('', { 'x-request-id': 'ended-by-us' }, other);
    await opened(second);
    other.stopping.abort();
    await second.ended;
    await eventually('the end is logged', () => other.log.some((line) => line.includes('ended-by-us')));
    expect(lines('hung-up-on').map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ route: '/v1/events/stream', account: 'default' }),
    ]);
    expect(other.log.filter((line) => line.includes('ended-by-us')).length).toBe(1);
  });
});

describe('An expired cursor', () => {
  const foreign = Buffer.from('0123456789abcdef/1-0').toString('base64url');

  it.each([
    ['after', `?after=${foreign}`, {}],
    ['Last-Event-ID', '', { 'last-event-id': foreign }],
  ])('in the parameter or header %s causes 410 before the stream starts', async (_, query, headers) => {
    const response = await gateway.fetch(`/v1/events/stream${query}`, { headers });
    expect(await problemOf(response)).toMatchObject({ status: 410, code: 'cursor_expired' });
  });

  it('ends the stream of a slow client, which gets 410 when it reconnects', async () => {
    await using own = await startTestRedis();
    await using other = await startTestGateway({ redisUrl: own.url });
    // As in a worker, which appends the events, a slow Redis delays a command but does not fail it.
    const writer = openRedis(parseRedisAddress(own.url), 'patient', () => undefined);
    const slow = new RedisEventLog(writer, 'tidings');
    const client = await open('', {}, other);
    const start = await opened(client);
    client.response.pause();
    const big = 'x'.repeat(500_000);
    for (let i = 1; i <= 60; i++) {
      await slow.append('default', [someEvent('message.sent', i, 'c1', big)]);
    }
    // The log may be trimmed only up to the last dispatched event.
    await writer.hset('tidings:{default}:events:counters', 'dispatched', '18446744073709551615-0');
    while ((await slow.trim('default', { maxAgeMs: 0, maxCount: 1 })) > 0);
    client.response.resume();
    expect(await client.ended).toBe(true);
    expect(client.events().length).toBeLessThan(60);
    const sequences = client.events().map((text) => (JSON.parse(text) as { sequence: number }).sequence);
    expect(sequences).toEqual(sequences.map((_, i) => i + 1));
    expect(client.lastId()).not.toBe(start);
    const again = await other.fetch('/v1/events/stream', {
      headers: { 'last-event-id': String(client.lastId()) },
    });
    expect(again.status).toBe(410);
    await closeRedis(writer);
  });
});
