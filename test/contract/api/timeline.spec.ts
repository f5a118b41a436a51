import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { problemOf, startTestGateway, type TestGateway } from '../../../apps/gateway/src/fixtures/gateway.js';
import { UPSTREAM } from '../../../apps/gateway/src/tokens.js';
import { newId } from '#platform';
import { ACCOUNT, FeedHarness } from '../feed/feed-harness.js';
import { eventually } from '../../support/eventually.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

const NUMBER = '+14155550123';

interface Entry {
  kind: 'message' | 'send';
  at: string;
  message?: { id: string; message: string };
  send?: { id: string; status: string; reference: string | null } | null;
  scheduled?: true;
}

interface Reply {
  timeline: Entry[];
  next: string | null;
  after: string;
  partial: boolean;
}

let redis: TestRedis;
let harness: FeedHarness;
let gateway: TestGateway;
let contact: string;

beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(async () => {
  await redis.dispose();
});
beforeEach(async () => {
  harness = await FeedHarness.open(redis.url);
  gateway = await startTestGateway({
    redisUrl: redis.url,
    environment: {
      REDIS_KEY_PREFIX: harness.prefix,
      UPSTREAM_BASE_URL: harness.address.baseUrl,
      UPSTREAM_API_KEY: 'simulator-key',
      UPSTREAM_REQUESTS_PER_SECOND: '1000',
    },
    bound: [{ provide: UPSTREAM, useValue: harness.upstream }],
  });
  contact = harness.createContact(NUMBER);
});
afterEach(async () => {
  await gateway.dispose();
  await harness.close();
});

async function page(query: Record<string, string> = {}, id = contact): Promise<Reply> {
  const text = new URLSearchParams(query).toString();
  const reply = await gateway.fetch(`/v1/conversations/${encodeURIComponent(id)}/timeline?${text}`);
  expect(reply.status).toBe(200);
  return (await reply.json()) as Reply;
}

async function all(limit = '20'): Promise<Entry[]> {
  const entries: Entry[] = [];
  let next: string | null = null;
  do {
    const reply: Reply = await page({ limit, ...(next === null ? {} : { cursor: next }) });
    expect(reply.partial).toBe(false);
    entries.push(...reply.timeline);
    next = reply.next;
  } while (next !== null);
  return entries;
}

const idOf = ({ kind, message, send }: Entry): string | undefined =>
  kind === 'message' ? message?.id : send?.id;

/** Creates messages a minute apart. Returns their ids, newest first. */
function createMessages(count: number): string[] {
  const start = Date.now() - count * 60_000;
  return Array.from({ length: count }, (_, i) => {
    const timestamp = new Date(start + i * 60_000).toISOString();
    return harness.createMessages(contact, { timestamp })[0] ?? '';
  }).reverse();
}

async function insertSend(more: { createdAt: number; sendAt?: number; reference?: string }): Promise<string> {
  const id = newId('snd');
  await harness.sends.insert(ACCOUNT, { id, phoneNumber: NUMBER, type: 'text', message: 'Hi', ...more });
  return id;
}

describe('GET /v1/conversations/{id}/timeline', () => {
  it.each([
    { order: 'newestFirst', limitCap: 20 },
    { order: 'newestFirst', limitCap: 100 },
    { order: 'oldestFirst', limitCap: 20 },
    { order: 'random', limitCap: 20 },
    { order: 'newestFirst', limitIgnored: true },
    { order: 'newestFirst', limitCap: 13, missingPageStatus: 404 },
    { order: 'oldestFirst', limitCap: 13, missingPageStatus: 404 },
    { order: 'random', limitCap: 20, missingPageStatus: 410 },
  ])('returns each message once, newest first (simulator settings: %j)', async (settings) => {
    harness.control('settings', settings);
    const ids = createMessages(130);
    await harness.sweep();
    await harness.sweep();
    expect((await all()).map(idOf)).toEqual(ids);
    const [first] = (await page()).timeline;
    if (first !== undefined)
      expect(first).toMatchObject({ kind: 'message', message: { id: ids[0] }, send: null });
  });

  it('returns each message once, newest first, if the last message of a page is older than messages of the next page', async () => {
    harness.control('settings', { sortBy: 'arrival', limitCap: 20 });
    const start = Date.now() - 130 * 60_000;
    const minutes = Array.from({ length: 130 }, (_, i) => i);
    minutes.splice(110, 0, ...minutes.splice(107, 1));
    const ids: string[] = [];
    for (const minute of minutes) {
      const timestamp = new Date(start + minute * 60_000).toISOString();
      ids[129 - minute] = harness.createMessages(contact, { timestamp })[0] ?? '';
    }
    await harness.sweep();
    await harness.sweep();
    expect((await harness.store.contactState(ACCOUNT, contact))?.pollState.order).toBe('newestFirst');
    expect((await all()).map(idOf)).toEqual(ids);
  });

  it('returns every message, even if upstream limits pages to 50 messages and the number of messages grows from 45 to 55', async () => {
    harness.control('settings', { limitCap: 50 });
    const timestamp = Date.now() - 3_600_000;
    const ids = harness.createMessages(contact, { count: 45, timestamp, intervalMs: 1_000 });
    await harness.sweep();
    await harness.sweep();
    const later = { timestamp: timestamp + 60_000, intervalMs: 1_000 };
    ids.push(...harness.createMessages(contact, { count: 10, ...later }));
    await harness.polls.pollHead(ACCOUNT, contact);
    expect((await all('50')).map(idOf)).toEqual(ids.reverse());
  });

  it('reads all messages from upstream only once if upstream lists messages in random order, and then adds new messages from events', async () => {
    harness.control('settings', { order: 'random', limitCap: 20 });
    const ids = createMessages(60);
    await harness.sweep();
    await harness.sweep();
    await all();
    const [fresh] = harness.createMessages(contact);
    await eventually('the new message is committed', async () => {
      await harness.polls.poll(ACCOUNT, contact);
      return (await harness.eventTypes()).some((type) => type.startsWith('message.'));
    });
    const before = harness.countRequests(/messages/);
    expect((await page()).timeline.slice(0, 3).map(idOf)).toEqual([fresh, ids[0], ids[1]]);
    expect(harness.countRequests(/messages/)).toBe(before);
  });

  it('returns a new message only after the event of the message is recorded, and until then makes the contact due for a poll', async () => {
    const ids = createMessages(3);
    await harness.sweep();
    await harness.takeDue();
    const [late] = harness.createMessages(contact);
    const { timeline, after } = await page();
    expect(timeline.map(idOf)).toEqual(ids);
    expect(await harness.takeDue()).toEqual([contact]);
    await harness.polls.poll(ACCOUNT, contact);
    expect((await page()).timeline.map(idOf)).toEqual([late, ...ids]);
    const events = await gateway.fetch(`/v1/events?after=${after}`);
    expect(await events.json()).toMatchObject({ events: [{ data: { message: { id: late } } }] });
  });

  it('sorts sends by creation time and scheduled sends by scheduled time, and returns a bound send and its message as one entry', async () => {
    const ids = createMessages(3);
    await harness.sweep();
    const createdAt = Date.now() - 90_000;
    const pending = await insertSend({ createdAt, reference: 'order-1' });
    const scheduled = await insertSend({ createdAt, sendAt: Date.now() + 3_600_000 });
    const entries = await all();
    expect(entries.map(idOf)).toEqual([scheduled, ids[0], pending, ids[1], ids[2]]);
    expect(entries[0]).toMatchObject({ kind: 'send', scheduled: true, send: { status: 'scheduled' } });
    const record = await harness.sends.find(ACCOUNT, pending);
    if (record === undefined) throw new Error('the send was not found');
    const claim = { contactId: contact, messageId: ids[0] ?? '' };
    await harness.sends.apply(ACCOUNT, record, {
      transition: 'found',
      state: { attempts: [], refusals: 0, ...claim },
      claim,
    });
    const bound = await all();
    expect(bound.map(idOf)).toEqual([scheduled, ids[0], ids[1], ids[2]]);
    expect(bound[1]).toMatchObject({
      kind: 'message',
      at: new Date(createdAt).toISOString(),
      send: { id: pending, status: 'sent', reference: 'order-1' },
    });
  });

  it('shows the sends to a phone number that no contact has', async () => {
    const id = newId('snd');
    const number = '+14155550199';
    const order = { id, createdAt: Date.now(), phoneNumber: number, type: 'text', message: 'Hi' };
    await harness.sends.insert(ACCOUNT, order);
    expect(await page({}, number)).toMatchObject({
      timeline: [{ send: { id } }],
      next: null,
      partial: false,
    });
  });

  it('makes only one upstream request for two identical simultaneous requests', async () => {
    createMessages(30);
    await harness.sweep();
    const before = harness.countRequests(/messages/);
    harness.control('faults', {
      match: { contactId: contact },
      fault: { kind: 'slow', delayMs: 300 },
      times: 1,
    });
    const [one, other] = await Promise.all([page(), page()]);
    expect(other).toEqual(one);
    expect(harness.countRequests(/messages/)).toBe(before + 1);
  });

  it('returns only the sends and the preview of the last message, and sets `partial`, if upstream cannot be read', async () => {
    const ids = createMessages(3);
    await harness.sweep();
    const send = await insertSend({ createdAt: Date.now() });
    harness.control('faults', { match: { contactId: contact }, fault: { kind: 'status', status: 500 } });
    const reply = await page();
    expect(reply).toMatchObject({ next: null, partial: true });
    expect(reply.timeline.map(idOf)).toEqual([send, ids[0]]);
    expect(reply.timeline[1]?.message).toMatchObject({ direction: 'inbound', message: expect.any(String) });
  });

  it('returns 404 for an unknown conversation, and rejects an invalid cursor or limit', async () => {
    const ask = (path: string): Promise<Response> => gateway.fetch(`/v1/conversations/${path}`);
    for (const id of ['unknown', encodeURIComponent('+14155550777')])
      expect(await problemOf(await ask(`${id}/timeline`))).toMatchObject({ status: 404, code: 'not_found' });
    for (const query of ['cursor=abc', 'limit=0', 'limit=101', 'x=1']) {
      const problem = await problemOf(await ask(`${contact}/timeline?${query}`));
      expect(problem).toMatchObject({ code: 'validation_failed', errors: [{ field: query.split('=')[0] }] });
    }
  });
});
