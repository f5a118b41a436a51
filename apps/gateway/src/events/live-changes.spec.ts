import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { clockOfThisMachine, newId } from '#platform';
import { RedisRelayStore } from '../../../../libs/relay/src/redis/redis-relay-store.js';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { openStream, type StreamClient } from '../fixtures/stream-client.js';
import { makeToken } from '../fixtures/tokens.js';

const NUMBER = '+15551230001';
const OTHER_NUMBER = '+15551230002';
const TYPES = 'conversation.updated,send.updated';

let redis: TestRedis;
let gateway: TestGateway;
let sends: RedisRelayStore;

beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(async () => {
  await redis.dispose();
});
beforeEach(async () => {
  gateway = await startTestGateway({ redisUrl: redis.url });
  await gateway.redis.flushall();
  sends = new RedisRelayStore(gateway.redis, 'tidings', clockOfThisMachine);
});
afterEach(async () => {
  await gateway.dispose();
});

async function open(
  types = TYPES,
  headers: Record<string, string> = { 'x-api-key': KEY },
): Promise<StreamClient> {
  const client = await openStream(`${gateway.url}/v1/events/stream?types=${types}`, headers);
  await eventually('the stream is open', () => client.blocks.some(({ comment }) => comment));
  return client;
}

async function accept(phoneNumber: string, reference = 'ref'): Promise<string> {
  const id = newId('snd');
  const order = { id, type: 'text', phoneNumber, message: 'hello', reference, createdAt: Date.now() };
  await sends.insert('default', order);
  return id;
}

function live(client: StreamClient, type: string): Record<string, unknown>[] {
  return client.blocks
    .filter(({ event }) => event === type)
    .map(({ data }) => JSON.parse(data ?? '') as Record<string, unknown>);
}

describe('an event stream with the types conversation.updated and send.updated', () => {
  it('reports each status change of a send, and each change of its conversation, as an event without an `id:` line', async () => {
    const clients = [await open(), await open()];
    const id = await accept(NUMBER);
    for (const client of clients) {
      await eventually('the row arrives', () => live(client, 'conversation.updated').length > 0);
      expect(live(client, 'send.updated')).toEqual([{ id, status: 'queued', reference: 'ref', revision: 0 }]);
      expect(live(client, 'conversation.updated')[0]).toMatchObject({
        ...{ id: NUMBER, contactId: null, pendingSends: 1, preview: 'hello', lastDirection: 'outbound' },
      });
    }
    const record = await sends.find('default', id);
    if (record === undefined) throw new Error('the send is missing');
    const { attempts, refusals } = record.state;
    await sends.apply('default', record, { transition: 'cancelled', state: { attempts, refusals } });
    for (const client of clients) {
      await eventually('the status arrives', () => live(client, 'send.updated').length === 2);
      expect(live(client, 'send.updated')[1]).toMatchObject({ id, status: 'cancelled', revision: 1 });
      await eventually('the row disappears', () => live(client, 'conversation.updated').length === 2);
      const [before, after] = live(client, 'conversation.updated');
      expect(after).toMatchObject({ id: NUMBER, lastActivityAt: null, contactId: null, pendingSends: 0 });
      expect(after?.['revision']).toBeGreaterThan(Number(before?.['revision']));
      expect(
        client.blocks.filter(({ event }) => event !== undefined).every(({ id: own }) => own === undefined),
      ).toBe(true);
      client.disconnect();
    }
  });

  it('reports a frequently changing conversation at most four times a second, and always reports its last state', async () => {
    const client = await open();
    const began = performance.now();
    for (let i = 0; i < 60; i += 1) await accept(NUMBER);
    const last = (): unknown => live(client, 'conversation.updated').at(-1)?.['pendingSends'];
    await eventually('the last form arrives', () => last() === 60);
    const seconds = (performance.now() - began) / 1_000;
    expect(live(client, 'conversation.updated').length).toBeLessThanOrEqual(4 * seconds + 1);
    expect(live(client, 'send.updated')).toHaveLength(60);
    client.disconnect();
  });

  it('reports only changes of the allowed contacts if its token is restricted to contacts', async () => {
    await gateway.redis.hset('tidings:{default}:numbers', NUMBER, 'c_own');
    await gateway.redis.hset('tidings:{default}:conversations', 'c_own', JSON.stringify({ n: [NUMBER] }));
    await gateway.redis.zadd('tidings:{default}:conversations:order', 0, 'c_own');
    const { token } = await makeToken(gateway, { contactIds: ['c_own'] });
    const client = await open(TYPES, { authorization: `Bearer ${token}` });
    await accept(OTHER_NUMBER);
    const id = await accept(NUMBER);
    await eventually('the row arrives', () => live(client, 'conversation.updated').length > 0);
    expect(live(client, 'conversation.updated').map((row) => row['id'])).toEqual(['c_own']);
    expect(live(client, 'send.updated').map((send) => send['id'])).toEqual([id]);
    client.disconnect();
  });

  it('ends if changes may have been lost, so that the client reads all conversations again', async () => {
    const client = await open();
    await gateway.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    expect(await client.ended).toBe(true);
    const again = await open();
    await accept(NUMBER);
    await eventually('changes arrive again', () => live(again, 'send.updated').length > 0);
    again.disconnect();
  });
});

describe('changes of the types conversation.updated and send.updated', () => {
  it('are not sent on an event stream that does not name these types, even if a pattern matches them', async () => {
    const [client, witness] = [await open('send.*,message.*'), await open()];
    await accept(NUMBER);
    await eventually('the change arrives elsewhere', () => live(witness, 'send.updated').length > 0);
    expect(live(client, 'send.updated')).toEqual([]);
    client.disconnect();
    witness.disconnect();
  });

  it('cannot be requested from the event list: GET /v1/events with one of the types returns 400', async () => {
    const problem = await problemOf(await gateway.fetch('/v1/events?types=send.updated'));
    expect(problem).toMatchObject({ status: 400, code: 'validation_failed' });
  });
});
