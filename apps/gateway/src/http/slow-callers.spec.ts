import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { eventually } from '../../../../test/support/eventually.js';
import { requestIdOf } from './request-id.js';
import { useSlowCallers } from './slow-callers.js';

const LIMITS = { bodyMs: 300, paceMs: 300, paceBytes: 1_000, responseMs: 301 };
const LARGE = 'x'.repeat(32 * 1024 * 1024);

let server: FastifyInstance;
/** The bytes that the server read of each form, and how each form ended. */
const uploads: { bytes: number; end?: string }[] = [];

const abandoned = { isRunning: false, isAnswered: false };

beforeAll(async () => {
  server = fastify({ requestIdHeader: false, genReqId: requestIdOf });
  useSlowCallers(server, LIMITS);
  server.addContentTypeParser('multipart/form-data', (_, payload, done) => {
    const upload: (typeof uploads)[number] = { bytes: 0 };
    uploads.push(upload);
    payload
      .on('data', (chunk: Buffer) => (upload.bytes += chunk.length))
      .once('end', () => {
        upload.end = 'whole';
        done(null);
      })
      .once('close', () => (upload.end ??= 'cut'));
  });
  server.post('/body', () => 'taken');
  server.get('/large', () => LARGE);
  server.get('/late', async () => {
    await new Promise((resolve) => setTimeout(resolve, 3 * LIMITS.bodyMs));
    return 'late';
  });
  server.get('/abandoned', async (request) => {
    abandoned.isRunning = true;
    await once(request.raw, 'close');
    return 'nobody reads this';
  });
  server.addHook('onSend', (request, _, payload, done) => {
    if (request.url === '/abandoned') abandoned.isAnswered = true;
    done(null, payload);
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
});

afterAll(async () => {
  await server.close();
});

async function open(head: readonly string[], body = ''): Promise<{ socket: Socket; text: () => string }> {
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
  let text = '';
  socket.on('data', (part: Buffer) => (text += part.toString())).on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`${[...head, 'Host: x'].join('\r\n')}\r\n\r\n${body}`);
  return { socket, text: () => text };
}

const TYPE = ['Content-Type: application/json'];
const FORM = [
  'POST /body HTTP/1.1',
  'Content-Type: multipart/form-data; boundary=x',
  'Content-Length: 100000',
];

describe('A slow caller', () => {
  it('that sends JSON too slowly gets an error with the request id at the deadline, and is disconnected', async () => {
    const { socket, text } = await open(
      ['POST /body?x=1 HTTP/1.1', ...TYPE, 'Content-Length: 100000', 'X-Request-Id: mine'],
      '"',
    );
    const drip = setInterval(() => socket.write('x'), 20);
    try {
      await eventually('the client is disconnected', () => socket.destroyed);
    } finally {
      clearInterval(drip);
    }
    const [head, body = ''] = text().split('\r\n\r\n', 2);
    expect(head).toMatch(/^HTTP\/1.1 400 .*\r\nX-Request-Id: mine\r\n/s);
    expect(JSON.parse(body)).toMatchObject({
      code: 'malformed_body',
      detail: 'The complete request did not arrive in time.',
      instance: '/body',
      requestId: 'mine',
    });
  });

  it('that uploads too slowly is disconnected, but a long upload at the minimum rate may finish', async () => {
    uploads.length = 0;
    const slow = await open(FORM);
    const steady = await open(FORM);
    const drip = setInterval(() => slow.socket.write('x'), 20);
    let left = 100;
    const pour = setInterval(() => {
      if (left > 0) steady.socket.write('x'.repeat(1_000));
      left -= 1;
    }, 20);
    try {
      await eventually('the slow client is disconnected', () => slow.socket.destroyed);
      await eventually('the steady upload is accepted', () => steady.text().endsWith('taken'));
    } finally {
      clearInterval(drip);
      clearInterval(pour);
    }
    steady.socket.destroy();
    expect(slow.text()).toContain('did not arrive in time');
    await eventually('the reader of the upload gets its end', () => uploads[0]?.end === 'cut');
    expect(uploads[1]).toEqual({ bytes: 100_000, end: 'whole' });
  });

  it('that does not read a response in time is disconnected', async () => {
    const { socket } = await open(['GET /large HTTP/1.1']);
    socket.pause();
    await eventually('the server closes the connection', async () => (await connections()) === 0);
    socket.destroy();
  });

  it('is not disconnected while it waits for a late response to a request without a body', async () => {
    const { socket, text } = await open(['GET /late HTTP/1.1']);
    await eventually('the reply arrives', () => text().endsWith('late'));
    socket.destroy();
  });
});

describe('A caller that disconnects before the response', () => {
  it('leaves no timer in the gateway', async () => {
    const created = jest.spyOn(globalThis, 'setTimeout');
    const { socket } = await open(['GET /abandoned HTTP/1.1']);
    await eventually('the request is processed', () => abandoned.isRunning);
    socket.destroy();
    await eventually('the response is ready', () => abandoned.isAnswered);
    expect(created.mock.calls.filter(([, ms]) => ms === LIMITS.responseMs)).toEqual([]);
  });
});

function connections(): Promise<number> {
  return new Promise((resolve, reject) => {
    server.server.getConnections((error, count) => {
      if (error === null) resolve(count);
      else reject(error);
    });
  });
}
