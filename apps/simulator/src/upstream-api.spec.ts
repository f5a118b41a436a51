import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { RunningSimulator } from './testing/running-simulator.js';
import { eventually, onlyContactId, startSimulator } from './testing/running-simulator.js';

let running: RunningSimulator | null = null;

async function start(options?: Parameters<typeof startSimulator>[0]): Promise<RunningSimulator> {
  running = await startSimulator(options);
  return running;
}

afterEach(async () => {
  await running?.stop();
  running = null;
});

interface Page {
  messages: Record<string, unknown>[];
}

describe('the simulated upstream API', () => {
  it('rejects a request without an API key with a JSON error', async () => {
    const upstream = await start();
    const reply = await upstream.get('/contacts', {});
    expect(reply.status).toBe(401);
    expect(await reply.json()).toMatchObject({ statusCode: 401 });
  });

  it('queues a send, creates a contact and lists the message with exactly the documented fields', async () => {
    const upstream = await start();
    const reply = await upstream.send({ phoneNumber: '+15551234567', type: 'text', message: 'Hello' });
    expect(reply.status).toBe(200);
    expect(await reply.json()).toEqual({ status: 'queued', message: expect.any(String) });
    const contactId = onlyContactId(upstream);
    expect(await upstream.getJson('/contacts')).toEqual({
      contacts: [{ id: contactId, name: '+15551234567', phoneNumber: '+15551234567' }],
    });
    expect(await upstream.getJson(`/contacts/${contactId}/messages`)).toEqual({
      messages: [
        {
          id: expect.any(String),
          from: '+15550000000',
          to: '+15551234567',
          direction: 'outbound',
          message: 'Hello',
          timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          attachments: [],
          service: 'iMessage',
          status: { read: false, delivered: true },
        },
      ],
    });
  });

  it('records the size and digest of an uploaded file and lists the file as an attachment', async () => {
    const upstream = await start();
    const bytes = Buffer.alloc(3_000_000, 'abc');
    const reply = await upstream.send({ phoneNumber: '+15551234567', file: new Blob([bytes]) });
    expect(reply.status).toBe(200);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const [entry] = upstream.simulator.ledger.read({ kinds: ['send.accepted'] }).entries;
    expect(entry).toMatchObject({
      sendNumber: 1,
      parts: [{ name: 'phoneNumber' }, { name: 'file', filename: 'note.txt', size: bytes.length, sha256 }],
    });
    const page = (await upstream.getJson(`/contacts/${onlyContactId(upstream)}/messages`)) as Page;
    expect(page.messages[0]).toMatchObject({ message: '', attachments: [{ size: bytes.length }] });
  });

  it.each([
    ['no phone number', { message: 'x' }, 400],
    ['a number that is not E.164', { phoneNumber: '555', message: 'x' }, 400],
    ['no content', { phoneNumber: '+15551234567' }, 400],
    [
      'a file above the size limit',
      { phoneNumber: '+15551234567', file: new Blob(['x'.repeat(2_000)]) },
      413,
    ],
  ])('rejects a send with %s', async (_what, parts, status) => {
    const upstream = await start({ settings: { maxFileBytes: 1_000 } });
    const reply = await upstream.send(parts);
    expect(reply.status).toBe(status);
    expect(await reply.json()).toMatchObject({ statusCode: status, message: expect.any(String) });
    expect(upstream.simulator.ledger.read({ kinds: ['send.accepted'] }).entries).toEqual([]);
  });

  it('returns 404 for an unknown contact', async () => {
    const upstream = await start();
    expect((await upstream.get('/contacts/nobody/messages')).status).toBe(404);
  });

  it('returns pages newest first, 20 messages by default, and empty pages after the last message', async () => {
    const upstream = await start();
    upstream.simulator.control('messages', { from: '+15551234567', count: 45 });
    const path = `/contacts/${onlyContactId(upstream)}/messages`;
    const texts = async (query: string): Promise<unknown[]> =>
      ((await upstream.getJson(path + query)) as Page).messages.map(({ message }) => message);
    const first = await texts('');
    expect(first).toHaveLength(20);
    expect(first[0]).toBe('Message 45');
    expect(await texts('?page=3')).toEqual(['Message 5', 'Message 4', 'Message 3', 'Message 2', 'Message 1']);
    expect(await texts('?page=4')).toEqual([]);
    expect(await texts('?page=2&limit=2')).toEqual(['Message 43', 'Message 42']);
    expect((await upstream.get(`${path}?page=0`)).status).toBe(400);
  });

  it('records the id of each message that it serves', async () => {
    const upstream = await start();
    upstream.simulator.control('messages', { from: '+15551234567', count: 3 });
    const contactId = onlyContactId(upstream);
    const page = (await upstream.getJson(`/contacts/${contactId}/messages?limit=2`)) as Page;
    const [entry] = upstream.simulator.ledger.read({ kinds: ['list.served'] }).entries;
    expect(entry).toMatchObject({
      contactId,
      page: 1,
      limit: 2,
      ids: page.messages.map(({ id }) => id),
      flags: 'dd',
      revisions: [0, 0],
      damage: null,
    });
  });

  it('applies the clock skew to its Date header and timestamps', async () => {
    const upstream = await start({ settings: { clockSkewMs: 3_600_000 } });
    await upstream.send({ phoneNumber: '+15551234567', message: 'x' });
    const reply = await upstream.get(`/contacts/${onlyContactId(upstream)}/messages`);
    const expected = Date.now() + 3_600_000;
    expect(Math.abs(Date.parse(reply.headers.get('date') ?? '') - expected)).toBeLessThan(10_000);
    const page = (await reply.json()) as Page;
    expect(Math.abs(Date.parse(String(page.messages[0]?.['timestamp'])) - expected)).toBeLessThan(10_000);
  });

  it('lists, delivers, reads and answers a message after the configured delays', async () => {
    const upstream = await start({
      settings: {
        sendVisibleDelayMs: 20,
        deliveredDelayMs: 20,
        readDelayMs: 20,
        readProbability: 1,
        autoReply: { probability: 1, delayMs: 60, text: 'Thanks' },
      },
    });
    await upstream.send({ phoneNumber: '+15551234567', message: 'x' });
    const { messages } = await eventually(async () => {
      const page = (await upstream.getJson(`/contacts/${onlyContactId(upstream)}/messages`)) as Page;
      return page.messages.length === 2 ? page : null;
    });
    expect(messages[0]).toMatchObject({ direction: 'inbound', message: 'Thanks', from: '+15551234567' });
    const kinds = upstream.simulator.ledger.read({ kinds: ['message.*'] }).entries.map(({ kind }) => kind);
    expect(kinds.slice(0, 3)).toEqual(['message.created', 'message.changed', 'message.changed']);
  });

  it('limits the request rate with 429 and Retry-After', async () => {
    const upstream = await start({ settings: { rateLimitPerSecond: 2 } });
    const replies = await Promise.all(Array.from({ length: 6 }, () => upstream.get('/contacts')));
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(3);
    expect(refused[0]?.headers.get('retry-after')).toBe('1');
  });

  it('serves small pages fast enough for a load test', async () => {
    const upstream = await start();
    upstream.simulator.control('messages', { from: '+15551234567', count: 5_000 });
    const path = `/contacts/${onlyContactId(upstream)}/messages`;
    const began = process.cpuUsage();
    for (let round = 0; round < 20; round++)
      await Promise.all(Array.from({ length: 20 }, async () => (await upstream.get(path)).arrayBuffer()));
    // Measures CPU time, including that of the clients, so that other load on the machine does not matter.
    const { user, system } = process.cpuUsage(began);
    expect(400 / ((user + system) / 1_000_000)).toBeGreaterThan(100);
  });
});
