import { gzipSync } from 'node:zlib';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { metricsIn } from '../../../../test/support/metrics.js';
import { json, KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

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

/** Sends raw bytes, which may be invalid HTTP, and returns the response. */
async function raw(bytes: string): Promise<string> {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  socket.end(bytes);
  return await text(socket);
}

describe('An error response is problem+json', () => {
  it('with 404 not_found for an unknown URL', async () => {
    for (const path of ['/', '/v1', '/v2/sends/x', '/v1/sends/a/b', '/v1/contacts/a/b/c']) {
      const response = await gateway.fetch(path, { key: null });
      expect(response.status).toBe(404);
      expect(await problemOf(response)).toMatchObject({ code: 'not_found', instance: path });
    }
  });

  it('with 405 method_not_allowed and an Allow header for an unsupported method', async () => {
    const response = await gateway.fetch('/v1/webhooks/whk_1', { method: 'PUT' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('DELETE, GET, HEAD, PATCH');
    expect(await problemOf(response)).toMatchObject({ code: 'method_not_allowed' });
    expect((await gateway.fetch('/v1/messages/send')).headers.get('allow')).toBe('POST');
    expect((await gateway.fetch('/v1/events', { method: 'OPTIONS' })).status).toBe(405);
  });

  it('with 400 malformed_body for a body that is invalid JSON, not an object, or nested too deeply', async () => {
    const deep = `{"url":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    for (const body of ['{"url":', '[]', '"text"', 'null', '', '{"__proto__":{}}', deep]) {
      const response = await gateway.fetch('/v1/webhooks', json(body));
      expect(await problemOf(response)).toMatchObject({ status: 400, code: 'malformed_body' });
    }
  });

  it('with 413 payload_too_large for a JSON body above 1 MiB', async () => {
    const response = await gateway.fetch('/v1/webhooks', json({ url: 'x'.repeat(1_100_000) }));
    expect(await problemOf(response)).toMatchObject({ status: 413, code: 'payload_too_large' });
  });

  it('with 415 unsupported_media_type for an unsupported content type', async () => {
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'nonsense']) {
      const init = { method: 'POST', headers: { 'content-type': type }, body: 'a=b' };
      const response = await gateway.fetch('/v1/messages/send', init);
      expect(await problemOf(response)).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    }
    const form = new FormData();
    form.set('url', 'https://example.com');
    const response = await gateway.fetch('/v1/webhooks', { method: 'POST', body: form });
    expect(await problemOf(response)).toMatchObject({ status: 415 });
  });

  it('with 415 unsupported_media_type for a compressed body, or for a body that is labelled as compressed', async () => {
    const text = JSON.stringify({ phoneNumber: '+14155550123', message: 'Hi' });
    for (const [encoding, body] of [
      ['gzip', gzipSync(text)],
      ['br', text],
    ] as const) {
      const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
      const response = await gateway.fetch('/v1/messages/send', { method: 'POST', headers, body });
      expect(await problemOf(response)).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    }
  });

  it('with 400 for a URL that is not valid and 404 for a URL that is too long', async () => {
    expect(await problemOf(await gateway.fetch('/v1/sends/%ff'))).toMatchObject({ status: 400 });
    expect(await problemOf(await gateway.fetch(`/v1/sends/${'x'.repeat(2000)}`))).toMatchObject({
      status: 404,
    });
  });

  it('even for bytes that are not HTTP and for headers that are too large', async () => {
    expect(await raw('NONSENSE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*"code":"malformed_body"/s);
    const large = await raw(`GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(large).toMatch(/^HTTP\/1\.1 413 .*"code":"payload_too_large"/s);
    expect(large).toContain('application/problem+json');
    expect(large).toContain('\r\ntidings-gateway: 1\r\n');
  });

  it('with 500 internal and no details for an unexpected error; the log has the details with the request id', async () => {
    gateway.sends.fault = new Error('the secret plan failed');
    const response = await gateway.fetch('/v1/sends/snd_1', { headers: { 'x-request-id': 'trace-me.1' } });
    gateway.sends.fault = undefined;
    const body = JSON.stringify(await problemOf(response));
    expect(response.status).toBe(500);
    expect(body).not.toContain('secret plan');
    expect(body).not.toContain('.ts');
    expect(
      gateway.log.find((line) => line.includes('trace-me.1') && line.includes('secret plan')),
    ).toBeDefined();
  });
});

describe('The loop check, the ban on caching and the Allow header of the API', () => {
  const asked = (method: string, target: string, headers = ''): Promise<string> =>
    raw(`${method} ${target} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${KEY}\r\n${headers}\r\n`);

  it.each([
    ['plain', '/v1'],
    ['percent-encoded', '/%76%31'],
    ['with an origin', 'http://x/v1'],
  ])('apply to every notation of a path (%s)', async (_, base) => {
    const looped = await asked('POST', `${base}/messages/send`, 'Tidings-Gateway: 1\r\n');
    expect(looped).toMatch(/^HTTP\/1\.1 508 .*^cache-control: no-store\r$/ms);
    const unknown = await asked('GET', `${base}/nowhere`);
    expect(unknown).toMatch(/^HTTP\/1\.1 404 .*^cache-control: no-store\r$/ms);
    const unsupported = await asked('DELETE', `${base}/contacts`);
    expect(unsupported).toMatch(/^HTTP\/1\.1 405 .*^allow: GET, HEAD\r$/ms);
  });
});

describe('X-Request-Id', () => {
  it("is in every response: the caller's id if it is valid, else a new id", async () => {
    const echo = async (id: string): Promise<string | null> =>
      (await gateway.fetch('/health/live', { headers: { 'x-request-id': id } })).headers.get('x-request-id');
    expect(await echo('order-7_a.b')).toBe('order-7_a.b');
    expect(await echo('not sane')).toMatch(/^req_[0-9a-f]{32}$/);
    expect(await echo('x'.repeat(129))).toMatch(/^req_/);
  });
});

describe('A URL that cannot be parsed', () => {
  it.each([
    ['invalid percent-encoding', '/v1/sends/%zz', 400],
    ['a parameter that is too long', `/v1/sends/${'x'.repeat(2_000)}`, 404],
  ])(
    'is logged and counted, and its response has the Tidings-Gateway header (%s)',
    async (_, path, status) => {
      const labels = { method: 'GET', route: 'unmatched', status: String(status) };
      const count = async (): Promise<number> => {
        const metrics = await gateway.fetch('/metrics', { key: null });
        return metricsIn(await metrics.text()).value('tidings_http_requests_total', labels) || 0;
      };
      const before = await count();
      const reply = await gateway.fetch(path);
      expect([reply.status, reply.headers.get('tidings-gateway')]).toEqual([status, '1']);
      const requestId = String(reply.headers.get('x-request-id'));
      const lines = gateway.log.filter((line) => line.includes(requestId));
      expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
        expect.objectContaining({ msg: 'request.ended', method: 'GET', route: null, status }),
      ]);
      expect(await count()).toBe(before + 1);
    },
  );
});

describe('The request log', () => {
  it('has one line per request, without API keys, phone numbers or message texts', async () => {
    gateway.log.length = 0;
    const fields = { phoneNumber: '+14155550123', message: 'a text nobody may log' };
    const response = await gateway.fetch('/v1/messages/send', json(fields));
    const requestId = response.headers.get('x-request-id');
    const lines = gateway.log.filter((line) => line.includes(String(requestId)));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({
        method: 'POST',
        route: '/v1/messages/send',
        status: 200,
        account: 'default',
        durationMs: expect.any(Number),
      }),
    ]);
    for (const secret of ['4155550123', 'nobody may log', 'a-key-with']) {
      expect(gateway.log.join('')).not.toContain(secret);
    }
  });
});
