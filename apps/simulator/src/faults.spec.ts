import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { codeOf } from './error-words.js';
import type { RunningSimulator } from './testing/running-simulator.js';
import { eventually, onlyContactId, startSimulator } from './testing/running-simulator.js';

let upstream: RunningSimulator;

beforeEach(async () => {
  upstream = await startSimulator();
});

afterEach(() => upstream.stop());

const strike = (rules: object): object => upstream.simulator.control('faults', rules);
const send = (): Promise<Response> => upstream.send({ phoneNumber: '+15551234567', message: 'Hello' });
const accepted = (): number => upstream.simulator.ledger.read({ kinds: ['send.accepted'] }).entries.length;

/** How a request that gets no reply fails. */
async function failureOf(request: Promise<Response>): Promise<string> {
  try {
    await (await request).text();
    return 'none';
  } catch (error) {
    const cause = typeof error === 'object' && error !== null && 'cause' in error ? error.cause : undefined;
    return codeOf(cause) ?? String(error);
  }
}

describe('faults', () => {
  it('answer with a status, Retry-After and a body, as often as told, and then no more', async () => {
    strike([
      {
        match: { method: 'POST' },
        fault: { kind: 'status', status: 503, retryAfter: 7, body: { a: 1 } },
        times: 2,
      },
    ]);
    const first = await send();
    expect([first.status, first.headers.get('retry-after'), await first.json()]).toEqual([
      503,
      '7',
      { a: 1 },
    ]);
    expect((await send()).status).toBe(503);
    expect(accepted()).toBe(0);
    expect((await send()).status).toBe(200);
    expect(accepted()).toBe(1);
  });

  it.each([
    ['resetBefore', 0],
    ['resetAfter', 1],
    ['resetDuringUpload', 0],
  ])('%s tears the connection down with the send accepted %d times', async (fault, times) => {
    strike({ fault });
    expect(await failureOf(send())).toMatch(/ECONNRESET|UND_ERR_SOCKET/);
    expect(accepted()).toBe(times);
    const entry = await eventually(() => upstream.simulator.ledger.read({ kinds: ['request'] }).entries[0]);
    expect(entry).toMatchObject({ fault, status: null, aborted: true });
  });

  it.each([
    ['timeoutBefore', 0],
    ['timeoutAfter', 1],
  ])('%s never answers, with the send accepted %d times, and lets go after the cap', async (fault, times) => {
    upstream.simulator.control('settings', { hangCapMs: 150 });
    strike({ fault });
    const began = performance.now();
    expect(await failureOf(send())).not.toBe('none');
    expect(performance.now() - began).toBeGreaterThan(120);
    expect(accepted()).toBe(times);
  });

  it.each([
    [{ kind: 'statusAfter', status: 500 }, 500],
    [{ kind: 'html', processed: true }, 200],
    [{ kind: 'emptyObject', processed: true }, 200],
    [{ kind: 'errorBody200', processed: true }, 200],
    [{ kind: 'truncatedJson' }, 200],
    [{ kind: 'invalidUtf8' }, 200],
  ])('%o accepts the send and hides it', async (fault, status) => {
    strike({ fault });
    const reply = await send();
    expect(reply.status).toBe(status);
    const body = await reply.text();
    const read = ((): unknown => {
      try {
        return JSON.parse(body);
      } catch {
        return null;
      }
    })();
    expect(read).not.toEqual({ status: 'queued', message: 'Message job queued for processing' });
    expect(accepted()).toBe(1);
  });

  it.each(['html', 'emptyObject', 'errorBody200'])('%s alone accepts nothing', async (fault) => {
    strike({ fault });
    expect((await send()).status).toBe(200);
    expect(accepted()).toBe(0);
  });

  it('slow accepts a send even when its client has left', async () => {
    strike({ fault: { kind: 'slow', delayMs: 150 } });
    const body = new FormData();
    body.append('phoneNumber', '+15551234567');
    body.append('message', 'late');
    const signal = AbortSignal.timeout(50);
    const headers = { 'x-api-key': 'simulator-key' };
    await expect(
      fetch(`${upstream.baseUrl}/messages/send`, { method: 'POST', headers, body, signal }),
    ).rejects.toThrow();
    expect(accepted()).toBe(0);
    await eventually(() => accepted() === 1);
  });

  it('strike only what they match: a contact, a number, a path', async () => {
    const [one, two] = [1, 2].map(() => upstream.simulator.control('contacts', { count: 1 })) as {
      contacts: { id: string; phoneNumber: string }[];
    }[];
    const struck = one?.contacts[0];
    const spared = two?.contacts[0];
    strike([
      { match: { contactId: struck?.id, method: 'GET' }, fault: 'status', times: 'always' },
      { match: { phoneNumber: struck?.phoneNumber }, fault: 'status' },
      { match: { path: '/contacts$' }, fault: 'emptyObject' },
    ]);
    expect((await upstream.get(`/contacts/${struck?.id ?? ''}/messages`)).status).toBe(500);
    expect((await upstream.get(`/contacts/${spared?.id ?? ''}/messages`)).status).toBe(200);
    expect((await upstream.send({ phoneNumber: spared?.phoneNumber ?? '', message: 'x' })).status).toBe(200);
    expect((await upstream.send({ phoneNumber: struck?.phoneNumber ?? '', message: 'x' })).status).toBe(500);
    expect(await upstream.getJson('/contacts')).toEqual({});
  });

  it('poison one element of a list and say so in the ledger', async () => {
    upstream.simulator.control('messages', { from: '+15551234567', count: 3 });
    const path = `/contacts/${onlyContactId(upstream)}/messages`;
    strike([
      { fault: { kind: 'poisonMessage', garbage: 'null', position: 1 } },
      { fault: { kind: 'poisonMessage', garbage: 'noId', mode: 'insert' } },
    ]);
    const first = (await upstream.getJson(path)) as { messages: unknown[] };
    expect(first.messages.map((message) => message === null)).toEqual([false, true, false]);
    const second = (await upstream.getJson(path)) as { messages: object[] };
    expect(second.messages).toHaveLength(4);
    expect(second.messages[0]).not.toHaveProperty('id');
    const served = upstream.simulator.ledger.read({ kinds: ['list.served'] }).entries;
    expect(served).toMatchObject([{ damage: 'poisonMessage' }, { damage: 'poisonMessage' }]);
  });

  it('spoil a text with bytes that are not UTF-8', async () => {
    upstream.simulator.control('messages', { from: '+15551234567' });
    strike({ fault: 'invalidUtf8' });
    const reply = await upstream.get(`/contacts/${onlyContactId(upstream)}/messages`);
    const bytes = await reply.arrayBuffer();
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).toThrow();
  });

  it('drip the true reply and cut a reply in its middle', async () => {
    strike([
      { fault: { kind: 'drip', bytes: 4, intervalMs: 5 } },
      { fault: { kind: 'truncatedJson', cut: 'connection' } },
    ]);
    expect(await upstream.getJson('/contacts')).toEqual({ contacts: [] });
    expect(await failureOf(upstream.get('/contacts'))).not.toBe('none');
  });

  it('strike a share of the requests when they have a probability', async () => {
    strike({ fault: 'status', probability: 0.5 });
    const replies: number[] = [];
    for (let n = 0; n < 40; n++) replies.push((await upstream.get('/contacts')).status);
    const struck = replies.filter((status) => status === 500).length;
    expect(struck).toBeGreaterThan(5);
    expect(struck).toBeLessThan(35);
    upstream.simulator.control('faults/clear');
    expect((await upstream.get('/contacts')).status).toBe(200);
  });

  it('do not keep a simulator from closing', async () => {
    strike({ fault: 'timeoutBefore' });
    const hanging = failureOf(upstream.get('/contacts'));
    await eventually(() => upstream.simulator.core.faults.list().length === 0);
    const began = performance.now();
    await upstream.stop();
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(await hanging).not.toBe('none');
  });
});
