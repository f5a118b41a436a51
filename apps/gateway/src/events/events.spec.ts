import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventToJson, type EventTypeOf, type NewEvent, RedisEventLog } from '#events';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { revisionIn, type SimpleType, someEvent } from '../fixtures/events.js';
import { json, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

let redis: TestRedis;
let gateway: TestGateway;
let log: RedisEventLog;
let revision = 0;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
  log = new RedisEventLog(gateway.redis, 'tidings');
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

async function append(type: SimpleType, contactId?: string): Promise<void> {
  revision++;
  await log.append('default', [someEvent(type, revision, contactId)]);
}

function messageEvent(
  type: EventTypeOf<'message'>,
  contactId: string,
  message: object,
  more: object = {},
): NewEvent {
  return { type, contactId, subject: 'y', revision: ++revision, data: { contactId, message, ...more } };
}

interface Page {
  events: { id: string; type: string; data: object }[];
  next: string;
  hasMore: boolean;
}

async function page(query: string): Promise<Page> {
  const response = await gateway.fetch(`/v1/events${query}`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  return (await response.json()) as Page;
}

describe('Events', () => {
  it('are read page by page with a cursor, even from an empty log', async () => {
    const empty = await page('?after=now');
    expect(empty).toMatchObject({ events: [], hasMore: false });
    for (let i = 0; i < 3; i++) await append('message.received', 'c1');
    const first = await page(`?after=${empty.next}&limit=2`);
    expect(first).toMatchObject({ hasMore: true, events: [{ type: 'message.received' }, {}] });
    const second = await page(`?after=${first.next}&limit=2`);
    expect(second.events.map(({ data }) => revisionIn(JSON.stringify(data)))).toEqual([3]);
    expect(await page(`?after=${second.next}`)).toEqual({ events: [], next: second.next, hasMore: false });
    expect((await page('')).events.length).toBe(3);
  });

  it('have exactly the same bytes when read alone or in a list', async () => {
    const [event] = (await log.read('default', undefined, 1)).events;
    if (event === undefined) throw new Error('no event');
    const one = await gateway.fetch(`/v1/events/${event.id}`);
    expect(await one.text()).toBe(eventToJson(event));
    const all = await gateway.fetch('/v1/events?limit=1');
    expect(await all.text()).toContain(`{"events":[${eventToJson(event)}],`);
    expect(await problemOf(await gateway.fetch('/v1/events/evt_x'))).toMatchObject({ status: 404 });
  });

  it('are filtered by type, pattern and contact', async () => {
    const { next } = await page('?after=now');
    await append('message.sent', 'c1');
    await append('message.sent', 'c2');
    await append('upstream.recovered');
    const typesOf = async (query: string): Promise<string[]> =>
      (await page(`?after=${next}&${query}`)).events.map(({ type }) => type);
    expect(await typesOf('types=message.*')).toEqual(['message.sent', 'message.sent']);
    expect(await typesOf('types=upstream.recovered,message.sent&contactId=c2')).toEqual(['message.sent']);
    expect(await typesOf('types=upstream.*&types=contact.*')).toEqual(['upstream.recovered']);
  });

  it('are filtered by message and by send, together with the other filters', async () => {
    const { next } = await page('?after=now');
    const request = json({ phoneNumber: '+14155550111', message: 'hello' });
    const { id: sendId } = (await (await gateway.fetch('/v1/messages/send', request)).json()) as {
      id: string;
    };
    const send = { ...gateway.sends.sends.get(`default/${sendId}`), messageId: 'm1' };
    await log.append('default', [
      { type: 'send.accepted', subject: `send:${sendId}`, revision: 1, data: { send } },
      messageEvent('message.sent', 'c1', { id: 'm1' }, { sendId }),
      messageEvent('message.received', 'c1', { id: 'm2', message: `m1 ${sendId}` }),
      messageEvent('message.read', 'c1', { id: 'm1' }, { sendId, changes: {} }),
      messageEvent('message.received', 'c2', { id: 'm1' }),
      messageEvent('message.received', 'c2', { id: 17 }),
    ]);
    const found = async (query: string): Promise<string[]> =>
      (await page(`?after=${next}&${query}`)).events.map(({ type }) => type);
    expect(await found('messageId=m1')).toEqual(['message.sent', 'message.read', 'message.received']);
    expect(await found('messageId=m1&contactId=c2')).toEqual(['message.received']);
    expect(await found('messageId=m1&types=message.read')).toEqual(['message.read']);
    expect(await found('messageId=17')).toEqual(['message.received']);
    expect(await found(`sendId=${sendId}`)).toEqual(['send.accepted', 'message.sent', 'message.read']);
    expect(await found(`messageId=m2&sendId=${sendId}`)).toEqual([]);
    expect(await found('messageId=m1&wait=1')).toHaveLength(3);
  });

  it('can be limited to the newest events with the parameter "last": the page is oldest first, and its cursor "next" selects only later events', async () => {
    await append('message.sent', 'c1');
    await append('message.received', 'c2');
    await append('contact.created', 'c1');
    const newest = await page('?last=2');
    expect(newest.events.map(({ type }) => type)).toEqual(['message.received', 'contact.created']);
    expect(newest.hasMore).toBe(false);
    const ofContact = await page('?last=2&contactId=c1');
    expect(ofContact.events.map(({ type }) => type)).toEqual(['message.sent', 'contact.created']);
    await append('message.sent', 'c1');
    for (const { next } of [newest, ofContact])
      expect((await page(`?after=${next}`)).events.map(({ type }) => type)).toEqual(['message.sent']);
  });

  it.each(['after=now', 'wait=1'])(
    'cannot be read with the parameter "last" together with %s',
    async (query) => {
      const problem = await problemOf(await gateway.fetch(`/v1/events?last=1&${query}`));
      expect(problem).toMatchObject({ status: 400, code: 'validation_failed' });
      expect(problem.errors).toEqual([{ field: 'last', message: 'cannot be used with `after` or `wait`' }]);
    },
  );

  it.each([
    'last=0',
    'last=1001',
    'after=nonsense',
    'after=',
    'messageId=',
    'sendId=',
    'types=nonsense',
    'types=',
    'limit=0',
    'limit=1001',
    'wait=31',
    'x=1',
  ])('cannot be read with the invalid query %s', async (query) => {
    const problem = await problemOf(await gateway.fetch(`/v1/events?${query}`));
    expect(problem).toMatchObject({ status: 400, code: 'validation_failed' });
    expect(problem.errors?.[0]?.field).toBe(query.split('=')[0]);
  });

  it('cannot be read with more than 50 types, and the error says so', async () => {
    const types = Array.from({ length: 51 }, () => 'message.*').join();
    for (const path of [`/v1/events?types=${types}`, `/v1/events/stream?types=${types}`]) {
      const problem = await problemOf(await gateway.fetch(path));
      expect(problem.errors).toEqual([
        { field: 'types', message: expect.stringMatching(/^must be 1 to 50 event types( .*)? or patterns/) },
      ]);
    }
  });

  it('cannot be read with a parameter that occurs twice, except for types', async () => {
    for (const parameter of ['limit=10', 'after=now', 'contactId=c1']) {
      const problem = await problemOf(await gateway.fetch(`/v1/events?${parameter}&${parameter}`));
      expect(problem.errors).toEqual([
        { field: parameter.split('=')[0], message: 'must occur only once in the request' },
      ]);
    }
    expect((await gateway.fetch('/v1/events?types=message.sent&types=send.*')).status).toBe(200);
    const problem = await problemOf(await gateway.fetch('/v1/events?types=message.sent&types=nonsense'));
    expect(problem.errors).toEqual([
      { field: 'types', message: expect.stringMatching(/^must be 1 to 50 event types/) },
    ]);
  });

  it('cannot be read with a cursor of another installation: 410 cursor_expired', async () => {
    const cursor = Buffer.from('0123456789abcdef/1-0').toString('base64url');
    const response = await gateway.fetch(`/v1/events?after=${cursor}`);
    expect(await problemOf(response)).toMatchObject({ status: 410, code: 'cursor_expired' });
  });
});

describe('A long poll', () => {
  it('returns as soon as an event that matches its filter is recorded', async () => {
    const { next } = await page('?after=now');
    const began = performance.now();
    const waiting = page(`?after=${next}&wait=10&types=contact.*`);
    await append('message.sent', 'c1');
    await append('contact.created', 'c3');
    expect((await waiting).events.map(({ type }) => type)).toEqual(['contact.created']);
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it('for a message returns when an event of this message is recorded', async () => {
    const { next } = await page('?after=now');
    const waiting = page(`?after=${next}&wait=10&messageId=m-awaited`);
    await append('message.sent', 'c1');
    await log.append('default', [messageEvent('message.read', 'c1', { id: 'm-awaited' }, { changes: {} })]);
    expect((await waiting).events.map(({ type }) => type)).toEqual(['message.read']);
  });

  it('returns an empty list at its time limit if there is no new event', async () => {
    const began = performance.now();
    expect((await page('?after=now&wait=1')).events).toEqual([]);
    expect(performance.now() - began).toBeGreaterThanOrEqual(1_000);
  });

  it('returns immediately when the gateway begins to stop', async () => {
    await using other = await startTestGateway({ redisUrl: redis.url });
    const began = performance.now();
    const waiting = other.fetch('/v1/events?after=now&wait=30');
    setTimeout(() => {
      other.stopping.abort();
    }, 200);
    expect((await waiting).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
