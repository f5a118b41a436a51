import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisEventLog } from '#events';
import { clockOfThisMachine, newId } from '#platform';
import { RedisRelayStore } from '#relay';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { MAX_EXAMINED_FOR_TOKENS } from '../auth/contact-access.js';
import { someEvent } from '../fixtures/events.js';
import { json, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { makeToken } from '../fixtures/tokens.js';

const OWN = { id: 'c_own', number: '+14155550111' };
const OTHER = { id: 'c_other', number: '+14155550122' };

let redis: TestRedis;
let gateway: TestGateway;
let log: RedisEventLog;
let sends: RedisRelayStore;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
  log = new RedisEventLog(gateway.redis, 'tidings');
  sends = new RedisRelayStore(gateway.redis, 'tidings', clockOfThisMachine);
});
afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});
beforeEach(async () => {
  await gateway.redis.flushall();
  await gateway.redis.hset('tidings:{default}:numbers', { [OWN.number]: OWN.id, [OTHER.number]: OTHER.id });
});

const restrictedToken = async (): Promise<string> =>
  (await makeToken(gateway, { contactIds: [OWN.id] })).token;

async function addSend(phoneNumber: string): Promise<string> {
  const id = newId('snd');
  await sends.insert('default', { id, phoneNumber, reference: 'invoice-4711', type: 'text', message: 'Hi' });
  return id;
}

async function addSendEvent(phoneNumber: string): Promise<string> {
  const reply = await gateway.fetch('/v1/messages/send', json({ phoneNumber, message: 'Hi' }));
  const { id } = (await reply.json()) as { id: string };
  const data = { send: { ...gateway.sends.sends.get(`default/${id}`) } };
  await log.append('default', [{ type: 'send.failed', subject: `send:${id}`, revision: 1, data }]);
  return (await log.end('default')).position;
}

const positionIn = (cursor: string): string =>
  Buffer.from(cursor, 'base64url').toString().split('/')[1] ?? '';

describe('A restricted token cannot see from pages and cursors', () => {
  it('whether sends to other contacts have a certain reference: pages and cursors are the same as without these sends', async () => {
    const token = await restrictedToken();
    const trace = async (query: string): Promise<unknown[]> => {
      const pages: unknown[] = [];
      for (let next: string | null = ''; next !== null;) {
        const path = `/v1/sends?reference=invoice-4711&${query}${next === '' ? '' : `&cursor=${next}`}`;
        const reply = await gateway.fetch(path, { token });
        const page = (await reply.json()) as { sends: { id: string }[]; next: string | null };
        pages.push(page.sends.map(({ id }) => id));
        ({ next } = page);
      }
      return pages;
    };
    const hidden = async (): Promise<unknown> =>
      Promise.all([OTHER, OTHER].map(({ number }) => addSend(number)));
    await hidden();
    const oldest = await addSend(OWN.number);
    await hidden();
    const newest = await addSend(OWN.number);
    await hidden();
    for (const query of ['limit=1', 'limit=1&status=queued'])
      expect([query, await trace(query)]).toEqual([query, [[newest], [oldest]]]);
    expect(await trace('limit=2')).toEqual([[newest, oldest]]);
    expect(await trace('limit=1&status=failed')).toEqual([[]]);
  });

  it('which events other contacts have: a page ends only at an event that the token can see, or at the end of the log', async () => {
    const token = await restrictedToken();
    const trace = async (query: string): Promise<unknown[]> => {
      const pages: unknown[] = [];
      for (let after = '', hasMore = true; hasMore;) {
        const reply = await gateway.fetch(`/v1/events?${query}${after}`, { token });
        const page = (await reply.json()) as { events: unknown[]; next: string; hasMore: boolean };
        if (reply.status !== 200) throw new Error(JSON.stringify(page) + gateway.log.slice(-3).join());
        pages.push([page.events.length, positionIn(page.next)]);
        ({ hasMore } = page);
        after = `&after=${page.next}`;
      }
      return pages;
    };
    await addSendEvent(OTHER.number);
    const first = await addSendEvent(OWN.number);
    await addSendEvent(OTHER.number);
    await addSendEvent(OTHER.number);
    await addSendEvent(OWN.number);
    const end = await addSendEvent(OTHER.number);
    for (const types of ['send.failed', 'send.*', 'send.*,webhook.test'])
      expect([types, await trace(`types=${types}&limit=1`)]).toEqual([
        types,
        [
          [1, first],
          [1, end],
        ],
      ]);
    expect(await trace('types=send.failed&limit=2')).toEqual([[2, end]]);
    expect(await trace('types=send.sent&limit=1')).toEqual([[0, end]]);
    const last = await gateway.fetch('/v1/events?types=send.failed&last=2', { token });
    expect(((await last.json()) as { events: unknown[] }).events).toHaveLength(2);
  });
});

it('a request for events examines at most 1,000 events if it has a token, and more if it has an API key', async () => {
  for (let i = 0; i < MAX_EXAMINED_FOR_TOKENS; i += 100) {
    const foreign = Array.from({ length: 100 }, (_, j) =>
      someEvent('message.received', i + j, OTHER.id, 'x'),
    );
    await log.append('default', foreign);
  }
  await log.append('default', [someEvent('message.received', 5_000, OWN.id, 'x')]);
  const path = `/v1/events?contactId=${OWN.id}`;
  const read = async (caller: { token?: string }, from = path): Promise<[count: number, next: string]> => {
    const reply = await gateway.fetch(from, caller);
    const { events, next } = (await reply.json()) as { events: unknown[]; next: string };
    return [events.length, next];
  };
  expect(await read({})).toMatchObject([1, expect.any(String)]);
  for (const token of [await restrictedToken(), (await makeToken(gateway)).token]) {
    const [count, next] = await read({ token });
    expect(count).toBe(0);
    expect(await read({ token }, `${path}&after=${next}`)).toMatchObject([1, expect.any(String)]);
  }
});
