import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  BudgetExhaustedError,
  HttpUpstream,
  isIncompleteReplyError,
  UpstreamConnectionLostError,
  UpstreamError,
  type UpstreamAddress,
  UpstreamReplyUnreadableError,
  UpstreamReplyTooLargeError,
  type UpstreamSend,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamRequestNotSentError,
  UpstreamUnreachableError,
} from '#upstream';
import { readAll, acceptEveryContact } from '../../support/contact-list.js';
import { pause, TimeLimit } from '#platform';
import { eventually } from '../../support/eventually.js';
import { createSimulator, type Simulator } from '../../../apps/simulator/src/create-simulator.js';

const TIMEOUT_MS = 400;
const NUMBER = '+15551234567';
const SEND: UpstreamSend = { phoneNumber: NUMBER, type: 'text', message: 'Hi' };

let simulator: Simulator;
let address: UpstreamAddress;
let upstream: HttpUpstream;
const servers: Server[] = [];
const sockets = new Set<Socket>();
const children: ChildProcess[] = [];

beforeEach(async () => {
  simulator = await createSimulator({ settings: { sendVisibleDelayMs: 0 } });
  const { baseUrl } = await simulator.listen();
  address = { baseUrl, apiKey: 'simulator-key' };
  upstream = new HttpUpstream(TIMEOUT_MS);
});
afterEach(async () => {
  upstream.close();
  await simulator.close();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await Promise.all(servers.splice(0).map((server) => new Promise((closed) => server.close(closed))));
});

async function listen(server: Server): Promise<UpstreamAddress> {
  servers.push(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, apiKey: 'k' };
}
const serve = (listener: RequestListener): Promise<UpstreamAddress> => listen(createHttpServer(listener));

async function failure(request: Promise<unknown>): Promise<UpstreamError> {
  const error: unknown = await request.then(
    () => 'no failure',
    (reason: unknown) => reason,
  );
  if (!(error instanceof UpstreamError)) throw new Error(`not an upstream error: ${String(error)}`);
  return error;
}

/** Makes one request of each kind, and returns a header of each. */
async function headerOfEachRequest(name: string): Promise<unknown[]> {
  const values: unknown[] = [];
  const server = await serve((request, response) => {
    values.push(request.headers[name]);
    request.resume();
    response.writeHead(500).end();
  });
  await failure(upstream.send(server, SEND));
  await failure(upstream.readContactsText(server, []));
  await failure(upstream.listContacts(server, acceptEveryContact));
  await failure(upstream.listMessages(server, 'a', 1, 20));
  return values;
}

const strike = (fault: unknown): object => simulator.control('faults', { fault });
const accepted = (): number => simulator.ledger.read({ kinds: ['send.accepted'] }).entries.length;
const contacts = (): { id: string }[] =>
  (simulator.control('contacts', { count: 1 }) as { contacts: { id: string }[] }).contacts;

describe('a gateway that is configured with another Tidings gateway as its upstream', () => {
  it.each([
    [508, false],
    [404, false],
    [401, false],
    [200, true],
    [503, true],
  ])(
    'detects the other gateway by a header of its reply, whatever the status of the reply: %d',
    async (status, mayBeProcessed) => {
      const gateway = await serve((request, response) => {
        request.resume();
        response.writeHead(status, { 'Tidings-Gateway': '1', 'Content-Type': 'application/json' });
        response.end('{"status":"queued","contacts":[],"messages":[]}');
      });
      for (const request of [
        () => upstream.send(gateway, SEND),
        () => upstream.readContactsText(gateway, []),
        () => upstream.readMessagesText(gateway, 'a', []),
        () => upstream.listContacts(gateway, acceptEveryContact),
        () => upstream.listMessages(gateway, 'a', 1, 20),
      ]) {
        expect(await failure(request())).toMatchObject({ name: 'UpstreamIsTidingsError', mayBeProcessed });
      }
    },
  );

  it('sends a header with each request, so that the other gateway can detect a request from a gateway', async () => {
    expect(await headerOfEachRequest('tidings-gateway')).toEqual(['1', '1', '1', '1']);
  });
});

it('each request names the product in its User-Agent, because some servers reject requests without it', async () => {
  expect(await headerOfEachRequest('user-agent')).toEqual(
    Array(4).fill(expect.stringMatching(/^Tidings\/\d/)),
  );
});

describe('a send', () => {
  it('consists of the documented form fields only', async () => {
    await upstream.send(address, {
      ...SEND,
      type: 'audio',
      message: 'Grüße \u{1F44B}\r\n"x"',
      fileUrl: 'https://x/y?a=1&b=2',
    });
    expect(simulator.ledger.read({ kinds: ['send.accepted'] }).entries).toMatchObject([
      {
        parts: [
          { name: 'phoneNumber', value: NUMBER },
          { name: 'type', value: 'audio' },
          { name: 'message', value: 'Grüße \u{1F44B}\r\n"x"' },
          { name: 'fileUrl', value: 'https://x/y?a=1&b=2' },
        ],
      },
    ]);
  });

  it('is posted as a form with the additional fields that the caller passed, and with the file as its last part', async () => {
    const file = {
      name: 'a',
      contentType: 'text/plain',
      size: 1,
      content: Readable.from([Buffer.from('x')]),
    };
    await upstream.send(address, { ...SEND, file, extraFields: { priority: 'high', 'x.y': 'ü\r\n' } });
    const [entry] = simulator.ledger.read({ kinds: ['send.accepted'] }).entries;
    expect(entry).toMatchObject({
      parts: [
        { name: 'phoneNumber' },
        { name: 'type' },
        { name: 'message' },
        { name: 'priority', value: 'high' },
        { name: 'x.y', value: 'ü\r\n' },
        { name: 'file' },
      ],
    });
  });

  it('streams its file to upstream', async () => {
    const content = randomBytes(5 * 1024 * 1024);
    let pulled = 0;
    const stream = new Readable({
      read(): void {
        const chunk = content.subarray(pulled, pulled + 65_536);
        pulled += chunk.length;
        this.push(chunk.length === 0 ? null : chunk);
      },
    });
    const patient = new HttpUpstream(10_000);
    const file = {
      name: 'photo \u{1F44B}.png',
      contentType: 'image/png',
      size: content.length,
      content: stream,
    };
    await patient.send(address, { phoneNumber: NUMBER, type: 'text', file });
    const [entry] = simulator.ledger.read({ kinds: ['send.accepted'] }).entries;
    expect(entry).toMatchObject({
      parts: [
        { name: 'phoneNumber' },
        { name: 'type' },
        {
          name: 'file',
          filename: 'photo \u{1F44B}.png',
          contentType: 'image/png',
          size: content.length,
          sha256: createHash('sha256').update(content).digest('hex'),
        },
      ],
    });
    expect(stream.destroyed).toBe(true);
  });

  it('contains no form field that its file name tries to inject', async () => {
    const name = 'a"; name="phoneNumber"\r\nX-Evil: 1\r\n\r\n+15550009999.txt';
    const file = { name, contentType: 'text/plain', size: 1, content: Readable.from([Buffer.from('x')]) };
    await failureOrFine(upstream.send(address, { ...SEND, file }));
    for (const entry of simulator.ledger.read({ kinds: ['send.accepted'] }).entries) {
      expect(entry).toMatchObject({ phoneNumber: NUMBER, message: 'Hi' });
      expect(entry.kind === 'send.accepted' ? entry.parts.map((part) => part.name) : []).toEqual([
        'phoneNumber',
        'type',
        'message',
        'file',
      ]);
    }
    expect(accepted()).toBe(1);
  });

  it('never uses the connection of an earlier send', async () => {
    const used: (Socket | null)[] = [];
    const to = await serve((request, response) => {
      used.push(request.socket);
      request.resume().on('end', () => response.end('{"status":"queued"}'));
    });
    for (let i = 0; i < 3; i += 1) await upstream.send(to, SEND);
    expect(new Set(used).size).toBe(3);
    expect(sockets.size).toBe(3);
  });

  it.each([
    [{ kind: 'status', status: 400 }, UpstreamStatusError, 0],
    [{ kind: 'status', status: 500 }, UpstreamStatusError, 0],
    [{ kind: 'statusAfter', status: 500 }, UpstreamStatusError, 1],
    [{ kind: 'timeoutBefore' }, UpstreamTimeoutError, 0],
    [{ kind: 'timeoutAfter' }, UpstreamTimeoutError, 1],
    [{ kind: 'resetBefore' }, UpstreamConnectionLostError, 0],
    [{ kind: 'resetAfter' }, UpstreamConnectionLostError, 1],
    [{ kind: 'resetDuringUpload' }, UpstreamConnectionLostError, 0],
    [{ kind: 'html', processed: true }, UpstreamReplyUnreadableError, 1],
    [{ kind: 'emptyObject', processed: true }, UpstreamReplyUnreadableError, 1],
    [{ kind: 'errorBody200', processed: true }, UpstreamReplyUnreadableError, 1],
    [{ kind: 'truncatedJson', cut: 'body' }, UpstreamReplyUnreadableError, 1],
    [{ kind: 'truncatedJson', cut: 'connection' }, UpstreamConnectionLostError, 1],
    [{ kind: 'poisonMessage' }, UpstreamReplyUnreadableError, 1],
    [{ kind: 'slow', delayMs: 5_000, processedFirst: true }, UpstreamTimeoutError, 1],
    [{ kind: 'drip', bytes: 1, intervalMs: 100 }, UpstreamTimeoutError, 1],
  ] as const)('that meets the fault %j fails with %p, and is never repeated', async (fault, kind, times) => {
    strike(fault);
    const began = performance.now();
    expect(await failure(upstream.send(address, SEND))).toBeInstanceOf(kind);
    expect(performance.now() - began).toBeLessThan(TIMEOUT_MS + 300);
    expect(accepted()).toBe(times);
  });

  it.each([{ kind: 'invalidUtf8' }, { kind: 'slow', delayMs: 50 }])(
    'succeeds despite the fault %j',
    async (fault) => {
      strike(fault);
      await upstream.send(address, SEND);
      expect(accepted()).toBe(1);
    },
  );

  it('counts as ambiguous if its connection ends after the request was written, whatever the error code', async () => {
    const made: Socket[] = [];
    const note = (message: unknown): void => void made.push((message as { socket: Socket }).socket);
    subscribe('net.client.socket', note);
    try {
      const to = await serve(() => {
        // Like a network that fails under an established connection.
        for (const socket of made)
          socket.destroy(Object.assign(new Error('no route to host'), { code: 'EHOSTUNREACH' }));
      });
      expect(await failure(upstream.send(to, SEND))).toBeInstanceOf(UpstreamConnectionLostError);
    } finally {
      unsubscribe('net.client.socket', note);
    }
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('accepts a reply that is compressed by %s, up to the maximum size', async (encoding, compress) => {
    let body = '{"status":"queued"}';
    const to = await serve((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(200, { 'Content-Encoding': encoding }).end(compress(Buffer.from(body)));
      });
    });
    await upstream.send(to, SEND);
    body = ' '.repeat(17 * 1024 * 1024);
    expect(await failure(new HttpUpstream(10_000).send(to, SEND))).toBeInstanceOf(UpstreamReplyTooLargeError);
  });

  it('fails with the status of the reply if the reply is an error of 20 MB', async () => {
    const to = await serve((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(400).end(`{"message":"No way"}${' '.repeat(20 * 1024 * 1024)}`);
      });
    });
    expect(await failure(upstream.send(to, SEND))).toMatchObject({ status: 400 });
  });

  it('is not written to its connection if the budget has no token when the connection is established', async () => {
    let bytes = 0;
    let connections = 0;
    const to = await listen(
      createServer((socket) => {
        connections += 1;
        socket.on('data', (data) => (bytes += data.length));
      }),
    );
    let renewals = 0;
    const tokenRenewal = (): Promise<void> => {
      renewals += 1;
      return renewals === 1 ? Promise.resolve() : Promise.reject(new Error('no token'));
    };
    expect(await failure(upstream.send({ ...to, tokenRenewal }, SEND))).toBeInstanceOf(
      UpstreamRequestNotSentError,
    );
    await eventually('the connection was opened', () => connections === 1);
    expect({ renewals, bytes }).toEqual({ renewals: 2, bytes: 0 });
  });

  it('does not follow a redirect', async () => {
    let hits = 0;
    const target = await serve((_, response) => {
      hits += 1;
      response.end('{"status":"queued"}');
    });
    for (const status of [301, 302, 307, 308]) {
      strike({ kind: 'status', status, location: `${target.baseUrl}/messages/send` });
      expect(await failure(upstream.send(address, SEND))).toMatchObject({ status });
    }
    expect(hits).toBe(0);
  });

  it('reports the error message and the Retry-After of upstream’s reply, whether given in seconds or as a date', async () => {
    strike({ kind: 'status', status: 429, retryAfter: '7', body: { message: 'too\n  fast' } });
    expect(await failure(upstream.send(address, SEND))).toMatchObject({
      status: 429,
      upstreamMessage: 'too fast',
      retryAfterMs: 7_000,
    });
    const date = new Date(Date.now() + 30_000).toUTCString();
    strike({
      kind: 'status',
      status: 503,
      retryAfter: date,
      body: '<h1>busy</h1>',
      contentType: 'text/html',
    });
    const error = await failure(upstream.send(address, SEND));
    expect(error).toMatchObject({ status: 503, upstreamMessage: '<h1>busy</h1>' });
    const { retryAfterMs } = error as UpstreamStatusError;
    expect(retryAfterMs).toBeGreaterThan(25_000);
    expect(retryAfterMs).toBeLessThanOrEqual(30_000);
    strike({ kind: 'status', status: 500, body: { message: 'x'.repeat(10_000) } });
    expect((await failure(upstream.send(address, SEND))).message.length).toBeLessThan(600);
    strike({ kind: 'status', status: 422, body: { message: `x${'😀'.repeat(300)}` } });
    const { message } = await failure(upstream.send(address, SEND));
    // Strict receivers of `send.failed` reject half of a character.
    expect(Buffer.from(message).toString()).toBe(message);
  });

  it('fails with an error that never contains the API key', async () => {
    for (const fault of ['status', 'timeoutBefore', 'resetBefore', 'html']) {
      strike(fault);
      const error = await failure(upstream.send({ ...address, apiKey: 'simulator-key' }, SEND));
      expect(`${error.message}${JSON.stringify(error)}${error.stack ?? ''}`).not.toContain('simulator-key');
    }
  });
});

async function failureOrFine(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
  }
}

describe('a send that cannot be completed', () => {
  it('is reported as not received by upstream after a refused connection', async () => {
    const gone = createServer();
    const to = await listen(gone);
    await new Promise((closed) => gone.close(closed));
    servers.length = 0;
    const error = await failure(upstream.send(to, SEND));
    expect(error).toBeInstanceOf(UpstreamUnreachableError);
    expect(error.message).toContain('ECONNREFUSED');
    expect(await failure(upstream.listContacts(to, acceptEveryContact))).toBeInstanceOf(
      UpstreamUnreachableError,
    );
  });

  it('is reported as not received by upstream if the host name of upstream cannot be resolved', async () => {
    const to = { baseUrl: 'http://no-such-host.invalid/v1', apiKey: 'k' };
    const patient = new HttpUpstream(10_000);
    expect(await failure(patient.send(to, SEND))).toBeInstanceOf(UpstreamUnreachableError);
  });

  it('is reported as not received by upstream if no connection is established within the deadline', async () => {
    const error = await failure(upstream.send(await fullListener(), SEND));
    expect(error).toBeInstanceOf(UpstreamUnreachableError);
    expect(error.message).toContain(`no connection within ${TIMEOUT_MS} ms`);
  });

  it('is reported as not received by upstream after a failed TLS handshake', async () => {
    const to = await listen(createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    const secure = { ...to, baseUrl: to.baseUrl.replace('http:', 'https:') };
    expect(await failure(upstream.send(secure, SEND))).toBeInstanceOf(UpstreamUnreachableError);
    const mute = await listen(createServer(() => undefined));
    const silent = { ...mute, baseUrl: mute.baseUrl.replace('http:', 'https:') };
    expect(await failure(upstream.send(silent, SEND))).toBeInstanceOf(UpstreamUnreachableError);
  });

  it('is not started after its time limit', async () => {
    let connections = 0;
    const to = await listen(createServer(() => (connections += 1)));
    const error = await failure(upstream.send(to, SEND, new TimeLimit(-1)));
    expect(error).toBeInstanceOf(UpstreamRequestNotSentError);
    expect(connections).toBe(0);
  });

  it('is still written to upstream if its time limit passes while the connection is being established', async () => {
    let bytes = 0;
    const to = await listen(createServer((socket) => socket.on('data', (data) => (bytes += data.length))));
    // The renewal is awaited before the exchange and again once the connection is established.
    let renewals = 0;
    const limit = new TimeLimit(50);
    const tokenRenewal = async (): Promise<void> => {
      renewals += 1;
      while (renewals === 2 && !limit.isOver()) await pause(5);
    };
    expect(await failure(upstream.send({ ...to, tokenRenewal }, SEND, limit))).toBeInstanceOf(
      UpstreamTimeoutError,
    );
    expect(renewals).toBe(2);
    expect(bytes).toBeGreaterThan(0);
  });

  it('is not written to its connection if the process was suspended for longer than the timeout', async () => {
    let bytes = 0;
    const to = await listen(createServer((socket) => socket.on('data', (data) => (bytes += data.length))));
    let renewals = 0;
    const tokenRenewal = (): Promise<void> => {
      renewals += 1;
      const paused = performance.now();
      while (renewals === 2 && performance.now() < paused + TIMEOUT_MS + 50);
      return Promise.resolve();
    };
    const error = await failure(upstream.send({ ...to, tokenRenewal }, SEND, new TimeLimit(60_000)));
    expect(error).toBeInstanceOf(UpstreamRequestNotSentError);
    expect(bytes).toBe(0);
  });

  it('is reported as not sent if its budget token cannot be renewed', async () => {
    const to = { ...address, tokenRenewal: () => Promise.reject(new Error('Redis is away')) };
    expect(await failure(upstream.send(to, SEND))).toBeInstanceOf(UpstreamRequestNotSentError);
  });

  it('is reported as possibly received by upstream if an established connection hangs or is closed', async () => {
    const mute = await listen(createServer(() => undefined));
    expect(await failure(upstream.send(mute, SEND))).toBeInstanceOf(UpstreamTimeoutError);
    const rude = await listen(createServer((socket) => socket.destroy()));
    expect(await failure(upstream.send(rude, SEND))).toBeInstanceOf(UpstreamConnectionLostError);
  });
});

/** A listener that accepts nothing and whose queue is full: a further connection hangs. */
async function fullListener(): Promise<UpstreamAddress> {
  const program = `
    const server = require('node:net').createServer();
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      require('node:fs').writeSync(1, String(server.address().port));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  for (let i = 0; i < 8; i += 1) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.add(socket);
  }
  return { baseUrl: `http://127.0.0.1:${String(port)}/v1`, apiKey: 'k' };
}

describe('a read', () => {
  it('closes its connection at the deadline even if the connection was not yet established', async () => {
    const made: Socket[] = [];
    const note = (message: unknown): void => void made.push((message as { socket: Socket }).socket);
    const to = await fullListener();
    subscribe('net.client.socket', note);
    try {
      await failure(upstream.readContactsText(to, []));
      expect(made.map(({ destroyed }) => destroyed)).toEqual([true]);
    } finally {
      unsubscribe('net.client.socket', note);
    }
  });

  it.each(['array', 'contacts', 'data', 'items'])(
    'accepts a contact list in the shape %j of the simulator',
    async (contactsShape) => {
      const [contact] = contacts();
      simulator.control('settings', { contactsShape });
      const list = await readAll(upstream.listContacts(address, acceptEveryContact));
      expect(list.items.map(({ id }) => id)).toEqual([contact?.id]);
      expect(Math.abs((list.date ?? 0) - Date.now())).toBeLessThan(5_000);
    },
  );

  it.each([
    { messagesShape: 'array' },
    { messagesShape: 'data' },
    { messagesShape: 'items' },
    { directionValues: { inbound: 'incoming', outbound: 'OUT' } },
    { idType: 'number' },
    { timestampFormat: 'iso-offset' },
    { timestampFormat: 'no-millis' },
    { timestampFormat: 'epoch-ms' },
    { attachmentShape: 'strings' },
    { extraMessageFields: true },
  ])('accepts messages in the form that the simulator settings %j produce', async (settings) => {
    simulator.control('settings', settings);
    const at = Date.UTC(2026, 0, 1);
    const { contactId } = simulator.control('messages', {
      from: NUMBER,
      text: 'in',
      timestamp: at,
      attachments: [{ url: 'x' }],
    }) as { contactId: string };
    simulator.control('messages', {
      contactId,
      direction: 'outbound',
      text: 'out',
      timestamp: at + 1_000,
      read: true,
    });
    const page = await upstream.listMessages(address, contactId, 1, 20);
    expect(page).toMatchObject({
      skipped: 0,
      items: [
        {
          direction: 'outbound',
          body: 'out',
          to: NUMBER,
          timestamp: at + 1_000,
          read: true,
          delivered: false,
        },
        { direction: 'inbound', body: 'in', from: NUMBER, timestamp: at, attachments: 1 },
      ],
    });
  });

  it('requests the given page and limit, for any contact id', async () => {
    const id = 'a/b?c#d ü%';
    simulator.control('contacts', { id, phoneNumber: NUMBER });
    simulator.control('messages', { contactId: id, count: 7, intervalMs: 1_000 });
    expect((await upstream.listMessages(address, id, 2, 5)).items).toHaveLength(2);
  });

  it.each([
    [{ kind: 'status', status: 500 }, UpstreamStatusError, false],
    [{ kind: 'timeoutBefore' }, UpstreamTimeoutError, false],
    [{ kind: 'resetBefore' }, UpstreamConnectionLostError, false],
    [{ kind: 'html' }, UpstreamReplyUnreadableError, false],
    [{ kind: 'emptyObject' }, UpstreamReplyUnreadableError, false],
    [{ kind: 'errorBody200' }, UpstreamReplyUnreadableError, false],
    [{ kind: 'truncatedJson', cut: 'body' }, UpstreamReplyUnreadableError, false],
    [{ kind: 'truncatedJson', cut: 'connection' }, UpstreamConnectionLostError, true],
    [{ kind: 'drip', bytes: 1, intervalMs: 100 }, UpstreamTimeoutError, true],
  ] as const)(
    'that meets the fault %j fails with %p instead of returning an empty list (part of a list received: %j)',
    async (fault, kind, hasBegun) => {
      contacts();
      strike(fault);
      const began = performance.now();
      const error = await failure(upstream.listContacts(address, acceptEveryContact));
      expect(error).toBeInstanceOf(kind);
      expect(isIncompleteReplyError(error)).toBe(hasBegun);
      expect(performance.now() - began).toBeLessThan(TIMEOUT_MS + 300);
    },
  );

  it('whose reply has an error status and an incomplete body does not count as a list of which a part was received', async () => {
    const server = createHttpServer((_, reply) =>
      reply.writeHead(503, { 'content-length': 9 }).write('busy'),
    );
    const error = await failure(upstream.listContacts(await listen(server), acceptEveryContact));
    expect(error).toBeInstanceOf(UpstreamTimeoutError);
    expect(isIncompleteReplyError(error)).toBe(false);
  });

  it('that had to wait for a new budget token has its full timeout after the wait', async () => {
    let renewals = 0;
    const renewal = async (): Promise<void> => {
      renewals += 1;
      // The second renewal follows the first start, for which the token has expired.
      if (renewals === 2) await pause(2 * TIMEOUT_MS);
    };
    const tokenRenewal = Object.assign(renewal, { isExpired: () => renewals < 2 });
    const to = { ...(await listen(createServer(() => undefined))), tokenRenewal };
    const began = performance.now();
    expect(await failure(upstream.listContacts(to, acceptEveryContact))).toBeInstanceOf(UpstreamTimeoutError);
    expect(renewals).toBe(2);
    expect(performance.now() - began).toBeGreaterThan(3 * TIMEOUT_MS - 10);
  });

  it.each([
    ['the budget has no token', new BudgetExhaustedError(3_000)],
    ['Redis refuses connections', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
  ])('fails with the error of the token renewal, not of upstream, if %s', async (_, noToken) => {
    /** Returns the address with a token renewal that first resolves, and rejects when the expired token is replaced. */
    const withExpiredToken = (): UpstreamAddress => {
      let renewals = 0;
      const renewal = (): Promise<void> => {
        renewals += 1;
        return renewals === 1 ? Promise.resolve() : Promise.reject(noToken);
      };
      return { ...address, tokenRenewal: Object.assign(renewal, { isExpired: () => true }) };
    };
    for (const read of [
      () => upstream.listContacts(withExpiredToken(), acceptEveryContact),
      () => upstream.listMessages(withExpiredToken(), 'a', 1, 20),
      () => upstream.readContactsText(withExpiredToken(), []),
      () => upstream.readMessagesText(withExpiredToken(), 'a', []),
    ])
      await expect(read()).rejects.toBe(noToken);
  });

  it('skips and counts an unreadable element', async () => {
    const { contactId } = simulator.control('messages', { from: NUMBER, count: 3 }) as { contactId: string };
    strike({ kind: 'poisonMessage', garbage: 'noId', position: 1 });
    expect(await upstream.listMessages(address, contactId, 1, 20)).toMatchObject({
      skipped: 1,
      items: [{}, {}],
    });
  });

  it('rejects a reply above 16 MB without holding it in memory', async () => {
    const [contact] = contacts();
    simulator.control('settings', { hugePage: { bytes: 200_000_000 } });
    const patient = new HttpUpstream(10_000);
    const before = process.memoryUsage().rss;
    const error = await failure(patient.listMessages(address, contact?.id ?? '', 1, 20));
    expect(error).toBeInstanceOf(UpstreamReplyUnreadableError);
    expect(error.message).toContain('16777216');
    // Half of the reply's size, because the sender runs in this process, too.
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
    patient.close();
  });

  it('accepts a reply of just below 16 MB', async () => {
    const [contact] = contacts();
    simulator.control('settings', { hugePage: { bytes: 16_000_000 } });
    const patient = new HttpUpstream(10_000);
    expect(await patient.listMessages(address, contact?.id ?? '', 1, 20)).toMatchObject({
      items: [],
      skipped: 0,
    });
    patient.close();
  });

  it.each([
    ['deflate', deflateRawSync],
    ['gzip', deflateSync],
    ['br', gzipSync],
  ])(
    'whose reply is not valid %s fails as unreadable, not as a broken connection, and so does a send',
    async (encoding, compress) => {
      let status = 200;
      const to = await serve((request, response) => {
        request.resume();
        response
          .writeHead(status, { 'content-encoding': encoding })
          .end(compress(Buffer.from('{"contacts":[]}')));
      });
      const requests = [() => upstream.listContacts(to, acceptEveryContact), () => upstream.send(to, SEND)];
      for (const request of requests)
        expect(await failure(request())).toBeInstanceOf(UpstreamReplyUnreadableError);
      status = 503;
      for (const request of requests) expect(await failure(request())).toMatchObject({ status });
    },
  );

  it.each(['gzip', 'deflate', 'br'])(
    'that a caller requested and whose reply is not valid %s fails with the status of an error reply, and as unreadable otherwise',
    async (encoding) => {
      let status = 404;
      const to = await serve((_, response) => {
        response.writeHead(status, { 'content-encoding': encoding }).end('{"message":"not compressed"}');
      });
      const requests = [
        () => upstream.readContactsText(to, []),
        () => upstream.readMessagesText(to, 'a', []),
      ];
      for (const request of requests) expect(await failure(request())).toMatchObject({ status });
      status = 200;
      for (const request of requests)
        expect(await failure(request())).toBeInstanceOf(UpstreamReplyUnreadableError);
    },
  );

  const cutOff = gzipSync(Buffer.from('{"contacts":[]}')).subarray(0, -10);
  it.each([
    ['that ends with its connection', { connection: 'close' }, cutOff, 'UpstreamConnectionLostError'],
    ['in chunks', { 'transfer-encoding': 'chunked' }, cutOff, 'UpstreamReplyUnreadableError'],
    ['with a length', { 'content-length': cutOff.length }, cutOff, 'UpstreamReplyUnreadableError'],
    ['without a body', { 'content-length': 0 }, Buffer.alloc(0), 'UpstreamReplyUnreadableError'],
  ])(
    'with a truncated compressed reply fails as a broken connection only if nothing but the end of the connection marks the end of the reply, and so does a send (reply %s)',
    async (_, headers, body, name) => {
      let status = 200;
      const to = await serve((request, response) => {
        request.resume();
        // Without this, Node.js would send each reply of unknown length in chunks.
        response.removeHeader('transfer-encoding');
        response.writeHead(status, { ...headers, 'content-encoding': 'gzip' });
        response.end(body);
      });
      const requests = [() => upstream.listContacts(to, acceptEveryContact), () => upstream.send(to, SEND)];
      for (const request of requests) expect(await failure(request())).toMatchObject({ name });
      status = 503;
      for (const request of requests) expect(await failure(request())).toMatchObject({ status });
    },
  );

  it('of a page of messages returns the time at which the headers of the reply arrived, not the time at which its body ended', async () => {
    let bodyAt = 0;
    const to = await serve((_, response) => {
      const end = (): void => {
        unsubscribe('undici:request:headers', end);
        setImmediate(() => {
          bodyAt = performance.now();
          response.end('{"messages":[]}');
        });
      };
      subscribe('undici:request:headers', end);
      response.writeHead(200).flushHeaders();
    });
    const began = performance.now();
    const { arrivedAt = 0 } = await upstream.listMessages(to, 'a', 1, 20);
    expect(arrivedAt).toBeGreaterThan(began);
    expect(arrivedAt).toBeLessThan(bodyAt);
  });

  it('rejects a small compressed reply that is large after decompression', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '));
    const to = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' }).end(bomb);
    });
    const patient = new HttpUpstream(10_000);
    expect(await failure(patient.listContacts(to, acceptEveryContact))).toBeInstanceOf(
      UpstreamReplyUnreadableError,
    );
    patient.close();
  });
});

describe('a proxy variable in the environment', () => {
  it('does not affect requests to upstream', async () => {
    let hits = 0;
    const proxy = await serve((_, response) => {
      hits += 1;
      response.end('{}');
    });
    const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];
    const before = names.map((name) => process.env[name]);
    for (const name of names) process.env[name] = proxy.baseUrl;
    try {
      await upstream.send(address, SEND);
      await readAll(upstream.listContacts(address, acceptEveryContact));
    } finally {
      names.forEach((name, i) => {
        const value = before[i];
        if (value === undefined) Reflect.deleteProperty(process.env, name);
        else process.env[name] = value;
      });
    }
    expect(hits).toBe(0);
    expect(accepted()).toBe(1);
  });
});
