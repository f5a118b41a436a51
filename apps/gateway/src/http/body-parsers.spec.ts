import { once } from 'node:events';
import { request, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

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
