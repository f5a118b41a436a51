import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { codeOf } from './error-properties.js';
import type { RunningSimulator } from './testing/running-simulator.js';
import { eventually, onlyContactId, startSimulator } from './testing/running-simulator.js';

let upstream: RunningSimulator;

beforeEach(async () => {
  upstream = await startSimulator();
});

afterEach(() => upstream.stop());

const addFaults = (rules: object): object => upstream.simulator.control('faults', rules);
const send = (): Promise<Response> => upstream.send({ phoneNumber: '+15551234567', message: 'Hello' });
const acceptedSends = (): number =>
  upstream.simulator.ledger.read({ kinds: ['send.accepted'] }).entries.length;

/** Returns the error code of a request that gets no reply, or 'none'. */
async function failureOf(request: Promise<Response>): Promise<string> {
  try {
    await (await request).text();
    return 'none';
  } catch (error) {
    const cause = typeof error === 'object' && error !== null && 'cause' in error ? error.cause : undefined;
    return codeOf(cause) ?? String(error);
  }
}

describe('the faults of the simulator', () => {
  it('return the configured status, Retry-After and body for the configured number of requests', async () => {
    addFaults([
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
    expect(acceptedSends()).toBe(0);
    expect((await send()).status).toBe(200);
    expect(acceptedSends()).toBe(1);
  });

  it.each([
    ['resetBefore', 'before the send is accepted', 0],
    ['resetAfter', 'after the send was accepted', 1],
    ['resetDuringUpload', 'before the send is accepted', 0],
  ])('include "%s", which resets the connection %s', async (fault, _, times) => {
    addFaults({ fault });
    expect(await failureOf(send())).toMatch(/ECONNRESET|UND_ERR_SOCKET/);
    expect(acceptedSends()).toBe(times);
    const entry = await eventually(() => upstream.simulator.ledger.read({ kinds: ['request'] }).entries[0]);
    expect(entry).toMatchObject({ fault, status: null, aborted: true });
  });

  it.each([
    ['timeoutBefore', 'before', 0],
    ['timeoutAfter', 'after', 1],
  ])(
    'include "%s": the request hangs %s the send is accepted, and the connection is closed after a configured time',
    async (fault, _, times) => {
      upstream.simulator.control('settings', { hangCapMs: 150 });
      addFaults({ fault });
      const began = performance.now();
      expect(await failureOf(send())).not.toBe('none');
      expect(performance.now() - began).toBeGreaterThan(120);
      expect(acceptedSends()).toBe(times);
    },
  );

  it.each([
    [{ kind: 'statusAfter', status: 500 }, 500],
    [{ kind: 'html', processed: true }, 200],
    [{ kind: 'emptyObject', processed: true }, 200],
    [{ kind: 'errorBody200', processed: true }, 200],
    [{ kind: 'truncatedJson' }, 200],
    [{ kind: 'invalidUtf8' }, 200],
  ])('include %o: the send is accepted, but the reply is not "queued"', async (fault, status) => {
    addFaults({ fault });
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
    expect(acceptedSends()).toBe(1);
  });

  it.each(['html', 'emptyObject', 'errorBody200'])(
    'include "%s": by default, the reply has status 200, but no send is accepted',
    async (fault) => {
      addFaults({ fault });
      expect((await send()).status).toBe(200);
      expect(acceptedSends()).toBe(0);
    },
  );

  it('include "slow", which accepts a send even if the client has disconnected', async () => {
    addFaults({ fault: { kind: 'slow', delayMs: 150 } });
    const body = new FormData();
    body.append('phoneNumber', '+15551234567');
    body.append('message', 'late');
    const signal = AbortSignal.timeout(50);
    const headers = { 'x-api-key': 'simulator-key' };
    await expect(
      fetch(`${upstream.baseUrl}/messages/send`, { method: 'POST', headers, body, signal }),
    ).rejects.toThrow();
    expect(acceptedSends()).toBe(0);
    await eventually(() => acceptedSends() === 1);
  });

  it('can be limited to the requests for one contact, one phone number or one path', async () => {
    const [one, two] = [1, 2].map(() => upstream.simulator.control('contacts', { count: 1 })) as {
      contacts: { id: string; phoneNumber: string }[];
    }[];
    const matching = one?.contacts[0];
    const other = two?.contacts[0];
    addFaults([
      { match: { contactId: matching?.id, method: 'GET' }, fault: 'status', times: 'always' },
      { match: { phoneNumber: matching?.phoneNumber }, fault: 'status' },
      { match: { path: '/contacts$' }, fault: 'emptyObject' },
    ]);
    expect((await upstream.get(`/contacts/${matching?.id ?? ''}/messages`)).status).toBe(500);
    expect((await upstream.get(`/contacts/${other?.id ?? ''}/messages`)).status).toBe(200);
    expect((await upstream.send({ phoneNumber: other?.phoneNumber ?? '', message: 'x' })).status).toBe(200);
    expect((await upstream.send({ phoneNumber: matching?.phoneNumber ?? '', message: 'x' })).status).toBe(
      500,
    );
    expect(await upstream.getJson('/contacts')).toEqual({});
  });

  it('can damage one element of a list; the simulator records the damage', async () => {
    upstream.simulator.control('messages', { from: '+15551234567', count: 3 });
    const path = `/contacts/${onlyContactId(upstream)}/messages`;
    addFaults([
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

  it('put bytes that are not UTF-8 into a text', async () => {
    upstream.simulator.control('messages', { from: '+15551234567' });
    addFaults({ fault: 'invalidUtf8' });
    const reply = await upstream.get(`/contacts/${onlyContactId(upstream)}/messages`);
    const bytes = await reply.arrayBuffer();
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).toThrow();
  });

  it('send a reply in small pieces, or close the connection in the middle of a reply', async () => {
    addFaults([
      { fault: { kind: 'drip', bytes: 4, intervalMs: 5 } },
      { fault: { kind: 'truncatedJson', cut: 'connection' } },
    ]);
    expect(await upstream.getJson('/contacts')).toEqual({ contacts: [] });
    expect(await failureOf(upstream.get('/contacts'))).not.toBe('none');
  });

  it('apply to a random share of the requests if a probability is configured', async () => {
    addFaults({ fault: 'status', probability: 0.5 });
    const replies: number[] = [];
    for (let n = 0; n < 40; n++) replies.push((await upstream.get('/contacts')).status);
    const struck = replies.filter((status) => status === 500).length;
    expect(struck).toBeGreaterThan(5);
    expect(struck).toBeLessThan(35);
    upstream.simulator.control('faults/clear');
    expect((await upstream.get('/contacts')).status).toBe(200);
  });

  it('do not prevent the simulator from stopping, even while a request hangs', async () => {
    addFaults({ fault: 'timeoutBefore' });
    const hanging = failureOf(upstream.get('/contacts'));
    await eventually(() => upstream.simulator.core.faults.list().length === 0);
    const began = performance.now();
    await upstream.stop();
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(await hanging).not.toBe('none');
  });
});
