import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request, type Server } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { makeToken } from '../fixtures/tokens.js';
import type { RateLimit } from '../auth/rate-limit.js';
import { TOKEN_RATE_LIMIT } from '../tokens.js';

const SEND = { phoneNumber: '+14155550123', message: 'grüß dich 👋' };

let redis: TestRedis;
let gateway: TestGateway;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

afterEach(() => {
  jest.restoreAllMocks();
});

async function send(type: string, body: string | Uint8Array): Promise<Response> {
  const headers = { 'content-type': type };
  return await gateway.fetch('/v1/messages/send', { method: 'POST', headers, body });
}

/** Sends the start of a JSON body and disconnects. Returns the log lines of the request. */
async function breakOff(framing: Readonly<Record<string, string>>): Promise<unknown[]> {
  gateway.log.length = 0;
  const headers = { 'x-api-key': KEY, 'content-type': 'application/json', ...framing };
  const call = request(`${gateway.url}/v1/messages/send`, { method: 'POST', headers });
  call.on('error', () => undefined);
  const server: Server = gateway.app.getHttpServer();
  const begun = once(server, 'request');
  call.write('{"phoneNumber":');
  await begun;
  call.destroy();
  await eventually('the request is logged', () => gateway.log.length > 0);
  // Waits for any further log line.
  await new Promise((resolve) => setTimeout(resolve, 100));
  return gateway.log.map((line) => JSON.parse(line) as unknown);
}

describe('A JSON body', () => {
  it.each(['utf-8', 'UTF-8', '"utf-8"', 'utf8'])('is accepted with charset %s', async (charset) => {
    const response = await send(`application/json; charset=${charset}`, JSON.stringify(SEND));
    expect(response.status).toBe(200);
    expect(gateway.sends.requests.at(-1)?.request.message).toBe(SEND.message);
  });

  it.each(['utf-16', '"UTF-16LE"', 'iso-8859-1', 'utf-8; charset=utf-16', 'utf-80', '""'])(
    'with charset %s causes 415 unsupported_media_type, and the error names utf-8',
    async (charset) => {
      const bytes = Buffer.from(JSON.stringify(SEND), 'utf16le');
      const problem = await problemOf(await send(`application/json;charset=${charset}`, bytes));
      expect(problem).toMatchObject({ status: 415, code: 'unsupported_media_type' });
      expect(problem.detail).toContain('utf-8');
    },
  );

  it('that is not valid UTF-8 causes 400 malformed_body; no byte is replaced with U+FFFD', async () => {
    const before = gateway.sends.requests.length;
    for (const encoding of ['latin1', 'utf16le'] as const) {
      const problem = await problemOf(
        await send('application/json', Buffer.from(JSON.stringify(SEND), encoding)),
      );
      expect(problem).toMatchObject({ status: 400, code: 'malformed_body' });
    }
    expect(gateway.sends.requests.length).toBe(before);
  });

  it.each([
    ['with a known length', { 'content-length': '1000' }],
    ['with chunked encoding', { 'transfer-encoding': 'chunked' }],
  ])(
    '%s from a caller that disconnects is logged as an aborted request, not as an error',
    async (_, framing) => {
      const lines = await breakOff(framing);
      const line = { level: 30, msg: 'request.ended', route: '/v1/messages/send', aborted: true };
      expect(lines).toEqual([expect.objectContaining(line)]);
    },
  );
});

describe('A JSON body for a public route', () => {
  it.each([
    ['with a known length', { 'content-length': '16385' }, 1],
    ['with chunked encoding', { 'transfer-encoding': 'chunked' }, 16_385],
  ])('%s causes 413 above 16 KiB, before all of it is sent', async (_, framing, sent) => {
    const headers = { 'content-type': 'application/json', 'x-api-key': KEY, ...framing };
    const call = request(`${gateway.url}/console/sessions`, { method: 'POST', headers });
    call.on('error', () => undefined);
    call.write(' '.repeat(sent));
    const [reply] = (await once(call, 'response')) as [IncomingMessage];
    expect(reply.statusCode).toBe(413);
    expect(JSON.parse(await textOf(reply))).toMatchObject({ code: 'payload_too_large' });
    call.destroy();
  });
});

describe('JSON bodies that callers send at the same time', () => {
  const MIB = 1_048_576;
  const PADDED = JSON.stringify({ ...SEND, message: 'hello' }).padEnd(MIB);
  const START_LENGTH = 20_000;
  const END = PADDED.slice(START_LENGTH);

  /** Starts requests with JSON bodies of 1 MiB, and sends only the start of each body. */
  function startBodies(
    count: number,
    credentials: Readonly<Record<string, string>>,
    framing: Readonly<Record<string, string | number>>,
    length = START_LENGTH,
  ): { call: ClientRequest; response: Promise<IncomingMessage> }[] {
    return Array.from({ length: count }, () => {
      const headers = { 'content-type': 'application/json', ...credentials, ...framing };
      const call = request(`${gateway.url}/v1/messages/send`, { method: 'POST', headers });
      call.on('error', () => undefined);
      call.write(PADDED.slice(0, length));
      const response = once(call, 'response').then(([reply]) => reply as IncomingMessage);
      // A test that disconnects does not wait for the response.
      response.catch(() => undefined);
      return { call, response };
    });
  }

  async function statusWith(credentials: { token?: string }, body: string): Promise<number> {
    const headers = { 'content-type': 'application/json' };
    return (await gateway.fetch('/v1/messages/send', { method: 'POST', headers, body, ...credentials }))
      .status;
  }

  it.each([
    ['with a known length', { 'content-length': MIB }],
    ['with chunked encoding', { 'transfer-encoding': 'chunked' }],
  ])(
    '%s and the same token have a limit of their total size: above it, the token gets 429, except for small bodies; other callers are not affected, and finished requests do not count',
    async (_, framing) => {
      const { token } = await makeToken(gateway);
      const started = startBodies(7, { authorization: `Bearer ${token}` }, framing);
      const refused = await Promise.race(started.map(({ response }) => response));
      expect(refused.statusCode).toBe(429);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(JSON.parse(await textOf(refused))).toMatchObject({
        code: 'rate_limited',
        detail: 'The token has reached its limit of memory for JSON request bodies.',
      });
      expect(await statusWith({ token }, PADDED)).toBe(429);
      expect(await statusWith({ token }, JSON.stringify(SEND))).toBe(200);
      expect(await statusWith({}, PADDED)).toBe(200);
      const statuses = started.map(async ({ call, response }) => {
        call.end(END);
        const reply = await response;
        reply.resume();
        return reply.statusCode;
      });
      expect((await Promise.all(statuses)).toSorted()).toEqual([...Array<number>(6).fill(200), 429]);
      expect(await statusWith({ token }, PADDED)).toBe(200);
    },
  );

  it('in chunks do not count towards the limit while they are small', async () => {
    const { token } = await makeToken(gateway);
    const framing = { 'transfer-encoding': 'chunked' };
    const started = startBodies(20, { authorization: `Bearer ${token}` }, framing, 0);
    const statuses = started.map(async ({ call, response }) => {
      call.end(JSON.stringify(SEND));
      const reply = await response;
      reply.resume();
      return reply.statusCode;
    });
    expect(await Promise.all(statuses)).toEqual(Array<number>(20).fill(200));
  });

  it('in chunks get 413 as soon as they exceed the maximum size, before their end is sent; a later body is accepted', async () => {
    const framing = { 'transfer-encoding': 'chunked' };
    const [body] = startBodies(1, { 'x-api-key': KEY }, framing, PADDED.length);
    if (body === undefined) throw new Error('no request');
    body.call.write(' ');
    expect((await body.response).statusCode).toBe(413);
    body.call.destroy();
    expect(await statusWith({}, PADDED)).toBe(200);
  });

  it('of one account get 429 above the limit of the account, and no longer count towards this limit after their callers disconnect', async () => {
    const started = startBodies(97, { 'x-api-key': KEY }, { 'content-length': MIB });
    const refused = await Promise.race(started.map(({ response }) => response));
    expect(refused.statusCode).toBe(429);
    expect(JSON.parse(await textOf(refused))).toMatchObject({
      detail: 'The account has reached its limit of memory for JSON request bodies.',
    });
    for (const { call } of started) call.destroy();
    await eventually('a large body is accepted', async () => (await statusWith({}, PADDED)) === 200);
  });

  it('do not count towards the limit if their callers disconnect before authentication is complete', async () => {
    const { token } = await makeToken(gateway);
    const rateLimit = gateway.app.get<RateLimit>(TOKEN_RATE_LIMIT);
    const count = rateLimit.count.bind(rateLimit);
    let goOn = (): void => undefined;
    const delay = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const counting = jest.spyOn(rateLimit, 'count').mockImplementation(async (id) => {
      await delay;
      return await count(id);
    });
    const started = startBodies(6, { authorization: `Bearer ${token}` }, { 'content-length': MIB }, 1);
    await eventually('the requests are authenticated', () => counting.mock.calls.length === 6);
    gateway.log.length = 0;
    for (const { call } of started) call.destroy();
    await eventually('the connections are closed', () => gateway.log.length === 6);
    goOn();
    expect(await statusWith({ token }, PADDED)).toBe(200);
  });

  it('do not count towards the limit if the method is GET, because they are not read', async () => {
    const { token } = await makeToken(gateway);
    const headers = { authorization: `Bearer ${token}`, 'content-length': MIB };
    const streams = Array.from({ length: 6 }, () => {
      const call = request(`${gateway.url}/v1/events/stream`, { headers });
      call.on('error', () => undefined);
      call.flushHeaders();
      return call;
    });
    const replies = (await Promise.all(streams.map((call) => once(call, 'response')))) as [IncomingMessage][];
    expect(replies.map(([{ statusCode }]) => statusCode)).toEqual(Array<number>(6).fill(200));
    expect(await statusWith({ token }, PADDED)).toBe(200);
    for (const call of streams) call.destroy();
  });
});
