import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { getEventListeners, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { NewSend } from './api-types.js';
import { SendStatusNotReachedError, type SendOptions, Tidings } from './client.js';
import type { ConnectionOptions } from './retrying-requester.js';
import { TidingsConnectionError, TidingsError } from './client-error.js';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let tidings: Tidings;
/** The answers to the next requests; the last one repeats. */
let answers: Answer[];
let requests: IncomingMessage[];

beforeEach(async () => {
  requests = [];
  answers = [];
  server = createServer((request, response) => {
    requests.push(request);
    request.resume().once('end', () => {
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      answer?.(request, response);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  tidings = new Tidings({ baseUrl: `http://127.0.0.1:${port}/`, apiKey: 'key', timeoutMs: 400 });
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const reset: Answer = (request) => request.socket.destroy();
const silence: Answer = () => undefined;
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(code, headers).end();
const problem =
  (code: number, name: string, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(code, headers).end(JSON.stringify({ code: name }));
const ok: Answer = (_, response) => response.end('{"id":"snd_1","status":"queued"}');

function clientWith(options: Partial<ConnectionOptions>): Tidings {
  const { port } = server.address() as AddressInfo;
  return new Tidings({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'key', ...options });
}

function withoutRetries(): Tidings {
  return clientWith({ maxRetries: 0 });
}

const SEND = { phoneNumber: '+15551230001', message: 'Hello' };

describe('a request without an answer', () => {
  it.each([
    [
      'a refused connection',
      new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:9') }),
      'connect ECONNREFUSED 127.0.0.1:9',
    ],
    [
      'a name with several addresses that all refuse',
      new TypeError('fetch failed', { cause: Object.assign(new Error(''), { code: 'ECONNREFUSED' }) }),
      'ECONNREFUSED',
    ],
    ['a browser, which reports no reason', new TypeError('Failed to fetch'), 'Failed to fetch'],
  ])('fails with an error that says which gateway did not answer, and why: %s', async (_, error, why) => {
    const unreachable = clientWith({
      ...{ baseUrl: 'https://tidings.internal:8443/prefix/', maxRetries: 0 },
      fetch: () => Promise.reject(error),
    });
    await expect(unreachable.getSend('snd_1')).rejects.toThrow(
      `GET /v1/sends/snd_1 got no answer from the gateway at https://tidings.internal:8443: ${why}`,
    );
  });

  it('fails with an error that says "unexpected redirect" if the server redirects the request', async () => {
    answers = [status(301, { Location: 'https://tidings.internal/' })];
    await expect(withoutRetries().getSend('snd_1')).rejects.toThrow(/: unexpected redirect$/);
  });
});

describe('a wait for the status of a send', () => {
  it('ends at its time limit even if the gateway does not answer or requests a longer wait before a retry', async () => {
    const patient = clientWith({ timeoutMs: 30_000 });
    answers = [silence];
    const began = performance.now();
    const waiting = patient.waitFor({ id: 'snd_1' }, 'sent', { timeoutMs: 300 });
    await expect(waiting).rejects.toThrow(TidingsConnectionError);
    answers = [ok, silence];
    await expect(patient.waitFor({ id: 'snd_1' }, 'sent', { timeoutMs: 300 })).rejects.toThrow(
      SendStatusNotReachedError,
    );
    answers = [status(429, { 'Retry-After': '30' })];
    await expect(patient.waitFor({ id: 'snd_1' }, 'sent', { timeoutMs: 300 })).rejects.toThrow(
      TidingsConnectionError,
    );
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it('fails with the abort reason if the caller aborts the passed signal', async () => {
    answers = [silence];
    const stop = new AbortController();
    const waiting = clientWith({ timeoutMs: 30_000 }).waitFor({ id: 'snd_1' }, 'sent', {
      signal: stop.signal,
    });
    stop.abort(new Error('stopped by the caller'));
    await expect(waiting).rejects.toThrow('stopped by the caller');
  });
});

describe('a send by the client library', () => {
  it('that the caller aborts fails with an error that contains the idempotency key, because the gateway may have stored the send', async () => {
    answers = [silence];
    const abort = new AbortController();
    const sending = clientWith({ timeoutMs: 30_000 }).send(SEND, { signal: abort.signal });
    await once(server, 'request');
    abort.abort(new Error('stopped by the caller'));
    const error = await sending.catch((fault: unknown) => fault);
    expect(error).toBeInstanceOf(TidingsConnectionError);
    expect(error).toMatchObject({
      idempotencyKey: requests[0]?.headers['idempotency-key'],
      cause: { message: 'stopped by the caller' },
    });
  });

  it.each<[string, Answer, number]>([
    ['an attempt without an answer', reset, 404],
    ['an attempt that got 503', status(503), 401],
    ['an answer that is not the gateway’s', status(429, { 'Retry-After': '0' }), 408],
  ])(
    'that is rejected after %s fails with an error that says that the send may be stored',
    async (_, fault, last) => {
      answers = [fault, status(last)];
      await expect(tidings.send(SEND)).rejects.toMatchObject({ status: last, mayHaveBeenExecuted: true });
    },
  );

  it('that is rejected at every attempt fails with an error that says that the send is not stored', async () => {
    answers = [problem(429, 'rate_limited', { 'Retry-After': '0' }), problem(400, 'validation_failed')];
    await expect(tidings.send(SEND)).rejects.toMatchObject({ status: 400, mayHaveBeenExecuted: false });
  });

  it.each<[string, Answer]>([
    ['a broken connection', reset],
    ['no answer', silence],
    ['503', status(503)],
    ['429', status(429, { 'Retry-After': '0' })],
  ])('is retried with the same idempotency key after this failure: %s', async (_, fault) => {
    answers = [fault, fault, ok];
    expect(await tidings.send(SEND)).toEqual({ id: 'snd_1', status: 'queued' });
    const keys = requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    await tidings.send(SEND);
    expect(requests.at(-1)?.headers['idempotency-key']).not.toBe(keys[0]);
  });

  it('has an idempotency key even if crypto.randomUUID is missing, as in browsers on pages without HTTPS', async () => {
    answers = [ok];
    Object.defineProperty(crypto, 'randomUUID', { value: undefined, configurable: true });
    try {
      await tidings.send(SEND);
    } finally {
      // The function of the prototype is visible again.
      Reflect.deleteProperty(crypto, 'randomUUID');
    }
    expect(requests[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
  });

  it('has the idempotency key that the caller passes', async () => {
    answers = [ok];
    await tidings.send(SEND, { idempotencyKey: 'mine' });
    expect(requests[0]?.headers).toMatchObject({ 'idempotency-key': 'mine', 'x-api-key': 'key' });
  });

  it('that fails returns an error with the idempotency key, so that the caller can repeat the send with the same key', async () => {
    const once = withoutRetries();
    answers = [reset];
    const error = await once.send(SEND).catch((fault: unknown) => fault);
    expect(error).toBeInstanceOf(TidingsConnectionError);
    expect(error).toMatchObject({ idempotencyKey: requests.at(-1)?.headers['idempotency-key'] });
    answers = [status(503)];
    await expect(once.send(SEND, { idempotencyKey: 'mine' })).rejects.toMatchObject({
      status: 503,
      idempotencyKey: 'mine',
    });
  });

  it('that is invalid is not retried, and the error has the code, the invalid fields and the request id', async () => {
    const problem = {
      ...{ code: 'validation_failed', detail: 'phoneNumber must be a phone number', requestId: 'req_1' },
      errors: [{ field: 'phoneNumber', message: 'must be a phone number' }],
    };
    answers = [(_, response) => response.writeHead(400).end(JSON.stringify(problem))];
    const error = await tidings.send({ phoneNumber: 'x' }).catch((fault: unknown) => fault);
    expect(error).toBeInstanceOf(TidingsError);
    expect(error).toMatchObject({
      ...{ status: 400, code: 'validation_failed', requestId: 'req_1', message: problem.detail },
      fields: problem.errors,
    });
    expect(requests).toHaveLength(1);
  });
});

describe('a call by the client library other than a send', () => {
  it('that changes data is retried after 429, but not after a failure that leaves the outcome unknown', async () => {
    answers = [status(429, { 'Retry-After': '0' }), ok];
    await tidings.cancelSend('snd_1');
    expect(requests).toHaveLength(2);
    answers = [reset];
    await expect(tidings.cancelSend('snd_1')).rejects.toBeInstanceOf(TidingsConnectionError);
    answers = [status(503)];
    await expect(tidings.cancelSend('snd_1')).rejects.toMatchObject({ status: 503, code: 'unexpected' });
    expect(requests).toHaveLength(4);
  });

  it('that only reads data is retried at most maxRetries times, and then fails with the last error', async () => {
    const { port } = server.address() as AddressInfo;
    const impatient = new Tidings({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'key', maxRetries: 2 });
    answers = [reset, status(429, { 'Retry-After': '0' }), status(503)];
    await expect(impatient.getSend('snd_1')).rejects.toMatchObject({ status: 503 });
    expect(requests).toHaveLength(3);
  });

  it('fails at once if the gateway requests a long wait in Retry-After, and the error contains that wait', async () => {
    answers = [status(503, { 'Retry-After': '3600' })];
    await expect(tidings.getSend('snd_1')).rejects.toMatchObject({ retryAfterMs: 3_600_000 });
    expect(requests).toHaveLength(1);
  });

  it('that gets a response other than JSON is retried if the call only reads data; a call that changes data fails with a TidingsConnectionError', async () => {
    const page: Answer = (_, response) => response.end('<html>Sign in to the network</html>');
    answers = [page, ok];
    expect(await tidings.getSend('snd_1')).toMatchObject({ id: 'snd_1' });
    answers = [page];
    await expect(tidings.cancelSend('snd_1')).rejects.toBeInstanceOf(TidingsConnectionError);
  });

  it.each([Infinity, 2 ** 31])(
    'waits for the answer if timeoutMs exceeds the maximum delay of a timer: %p',
    async (timeoutMs) => {
      answers = [(request, response) => setTimeout(ok, 50, request, response)];
      const client = clientWith({ timeoutMs, maxRetries: 0 });
      expect(await client.getSend('snd_1')).toMatchObject({ id: 'snd_1' });
    },
  );

  it('fails with the abort reason if the caller aborts the call, even during the wait before a retry', async () => {
    answers = [status(503, { 'Retry-After': '30' })];
    const abort = new AbortController();
    const reading = tidings.getSend('snd_1', { signal: abort.signal });
    await once(server, 'request');
    setTimeout(() => {
      abort.abort(new Error('enough'));
    }, 50);
    await expect(reading).rejects.toThrow('enough');
  });
});

describe('an event stream', () => {
  it('tries again after a minute at most, even if a proxy asks for a longer wait', async () => {
    const abort = new AbortController();
    answers = [status(503, { 'retry-after': '3600' })];
    const waited = new Promise<number>((resolve) => {
      const setTimer = globalThis.setTimeout;
      jest.spyOn(globalThis, 'setTimeout').mockImplementation((run: () => void, ms = 0) => {
        if (ms >= 60_000) resolve(ms);
        return setTimer(run, ms);
      });
    });
    const end = tidings.events({ signal: abort.signal })[Symbol.asyncIterator]().next();
    expect(await waited).toBe(60_000);
    jest.restoreAllMocks();
    abort.abort();
    expect(await end).toMatchObject({ done: true });
  });
});

describe('an event stream that has ended', () => {
  /**
   * Follows events until the given number of streams was opened. The server sends the text on each stream, then closes
   * the stream, or breaks the connection if `breaks` is true. Returns the times between the starts of successive
   * streams, in milliseconds.
   */
  async function pausesBetween(streams: number, text: string, breaks = false): Promise<number[]> {
    const abort = new AbortController();
    const times: number[] = [];
    answers = [
      (_, response) => {
        times.push(performance.now());
        if (times.length === streams) abort.abort();
        if (breaks) response.write(text, () => response.destroy());
        else response.end(text);
      },
    ];
    for await (const event of tidings.events({ signal: abort.signal })) expect(event).toBeDefined();
    return times.slice(1).map((time, n) => time - (times[n] ?? 0));
  }

  it.each([
    ['is closed', false],
    ['breaks', true],
  ])(
    'is opened again only after the time that the gateway asks for, if its connection %s',
    async (_, breaks) => {
      const event = 'retry: 500\n\nid: c1\nevent: message.received\ndata: {}\n\n';
      for (const pause of await pausesBetween(3, event, breaks)) expect(pause).toBeGreaterThan(490);
    },
  );

  it('is opened again after a wait that grows each time if the stream contained no event, only a position', async () => {
    const [first = 0, second = 0, third = 0] = await pausesBetween(4, 'id: c1\n\n');
    // The lower bounds of the random waits before the first three retries, minus 5 ms because timers are inaccurate.
    expect(first).toBeGreaterThan(120);
    expect(second).toBeGreaterThan(245);
    expect(third).toBeGreaterThan(495);
  });
});

describe('waiting for the status of a send', () => {
  it('reads the send until the end of the time limit', async () => {
    const began = performance.now();
    answers = [
      (_, response) => {
        // Without a read at the end of the time limit, the last read would be after about 1,190 ms.
        const status = performance.now() - began < 1_450 ? 'accepted' : 'delivered';
        response.end(JSON.stringify({ id: 'snd_1', status }));
      },
    ];
    const send = await clientWith({}).waitFor({ id: 'snd_1' }, 'delivered', { timeoutMs: 1_500 });
    expect(send.status).toBe('delivered');
  });

  it('continues while the gateway cannot be reached', async () => {
    const once = withoutRetries();
    answers = [reset, status(503), ok, (_, response) => response.end('{"id":"snd_1","status":"delivered"}')];
    expect(await once.waitFor({ id: 'snd_1' }, 'delivered')).toMatchObject({ status: 'delivered' });
  });

  it('fails at once if no send has this id', async () => {
    answers = [status(404)];
    await expect(tidings.waitFor({ id: 'snd_1' }, 'delivered')).rejects.toMatchObject({ status: 404 });
  });
});

describe('the client library', () => {
  const json =
    (value: unknown): Answer =>
    (_, response) =>
      response.end(JSON.stringify(value));

  it('ends a list of messages if the messaging service returns the same page for every page number', async () => {
    answers = [json({ messages: [{ id: 'm1' }, { id: 'm2' }] })];
    const ids: unknown[] = [];
    for await (const { id } of tidings.messages('c1')) ids.push(id);
    expect(ids).toEqual(['m1', 'm2']);
    expect(requests).toHaveLength(3);
  });

  it('returns each message once if the list grows while it is read, even by a whole page', async () => {
    const page = (...ids: string[]): Answer => json({ messages: ids.map((id) => ({ id })) });
    answers = [page('m4', 'm3'), page('m4', 'm3'), page('m3', 'm2'), page('m1'), page()];
    const ids: unknown[] = [];
    for await (const { id } of tidings.messages('c1')) ids.push(id);
    expect(ids).toEqual(['m4', 'm3', 'm2', 'm1']);
  });

  it('leaves out elements of a list of messages that are no objects', async () => {
    answers = [
      json({ messages: [null, { id: 'm2' }, 'm?'] }),
      json({ messages: [{ id: 'm1' }, null] }),
      json({ messages: [] }),
    ];
    const ids: unknown[] = [];
    for await (const { id } of tidings.messages('c1')) ids.push(id);
    expect(ids).toEqual(['m2', 'm1']);
  });

  it('rejects an API key that cannot be sent in a header, and does not quote it', () => {
    for (const apiKey of ['tk_first\ntk_second', 'tk_…'])
      expect(() => new Tidings({ baseUrl: 'http://127.0.0.1:1', apiKey })).toThrow(
        /^The API key contains (?!.*tk_)/,
      );
  });

  it('rejects a header that cannot be sent, and does not quote it', () => {
    for (const headers of [{ Authorization: 'Bearer tk_first\ntk_second' }, { 'tk_…': 'value' }])
      expect(() => new Tidings({ baseUrl: 'http://127.0.0.1:1', headers })).toThrow(/^A header (?!.*tk_)/);
  });

  const circular: Record<string, unknown> = {};
  circular['secret'] = circular;

  it.each<[string, NewSend, SendOptions]>([
    ['an idempotency key with a character above U+00FF', SEND, { idempotencyKey: 'secret №5' }],
    ['an idempotency key with a line break', SEND, { idempotencyKey: 'secret\n5' }],
    ['a BigInt', { ...SEND, metadata: { secret: 5n } }, {}],
    ['a reference to itself', { ...SEND, metadata: circular }, {}],
    ['a BigInt beside a file', { ...SEND, metadata: { secret: 5n } }, { file: new Blob(['a']) }],
  ])(
    'fails with a TypeError that quotes nothing, and makes no request, if a send contains %s',
    async (_, send, options) => {
      answers = [ok];
      await expect(tidings.send(send, options)).rejects.toThrow(
        expect.objectContaining({ name: 'TypeError', message: expect.not.stringMatching(/secret|5/) }),
      );
      expect(requests).toEqual([]);
    },
  );

  it('keeps nothing in memory for a signal that outlives the calls', async () => {
    answers = [ok];
    const { signal } = new AbortController();
    for (let n = 0; n < 20; n += 1) await tidings.getSend('snd_1', { signal });
    await tidings.waitFor({ id: 'snd_1' }, 'accepted', { signal, timeoutMs: 1 }).catch(() => undefined);
    const kept = Object.getOwnPropertySymbols(signal)
      .map((symbol): unknown => Reflect.get(signal, symbol))
      .filter((value) => value instanceof Set || value instanceof Map)
      .filter(({ size }) => size > 0);
    // In Node.js, one map contains the event types for which listeners were added.
    expect(kept.length).toBeLessThanOrEqual(1);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('requests messages with limit 20, the default of the messaging service, because the service may reject a higher limit', async () => {
    answers = [json({ messages: [{ id: 'm1' }] }), json({ messages: [] })];
    const ids: unknown[] = [];
    for await (const { id } of tidings.messages('c1')) ids.push(id);
    expect(ids).toEqual(['m1']);
    const limits = requests.map(({ url = '' }) => new URL(url, 'http://gateway').searchParams.get('limit'));
    expect(limits).toEqual(['20', '20']);
  });

  it('ends a list of messages at the first page after page 1 that gets the status 404, but throws the error of page 1', async () => {
    answers = [json({ messages: [{ id: 'm1' }] }), status(404)];
    const ids: unknown[] = [];
    for await (const { id } of tidings.messages('c1')) ids.push(id);
    expect(ids).toEqual(['m1']);
    answers = [status(404)];
    await expect(tidings.messages('c1').next()).rejects.toMatchObject({ status: 404 });
  });

  it('says that a reply contains no list of contacts', async () => {
    for (const reply of [{ contacts: null, data: { x: [] } }, null, 'contacts']) {
      answers = [json(reply)];
      await expect(tidings.contacts().next()).rejects.toThrow('no list of contacts');
    }
  });

  it.each([
    [{ contacts: [{ id: 'c1' }] }],
    [[{ id: 'c1' }]],
    [{ page: 1, items: [{ id: 'c1' }] }],
    [{ data: { contacts: [{ id: 'c1' }], total: 1 } }],
    [{ contacts: { contacts: [{ id: 'c1' }] } }],
  ])('reads the contacts from the reply %j', async (list) => {
    answers = [json(list)];
    const ids: unknown[] = [];
    for await (const { id } of tidings.contacts()) ids.push(id);
    expect(ids).toEqual(['c1']);
  });
});
