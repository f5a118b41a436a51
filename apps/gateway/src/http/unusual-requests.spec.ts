import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { startTestGateway, type TestGateway } from '../fixtures/gateway.js';

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

/** Sends request lines and returns everything until the server closes. The caller's side stays open. */
async function reply(...lines: readonly string[]): Promise<{ head: string; body: unknown }> {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  socket.write([...lines, 'X-Request-Id: mine', '', ''].join('\r\n'));
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  return { head: head.toLowerCase(), body: JSON.parse(body) };
}

function expectProblem(head: string): void {
  expect(head).toContain('content-type: application/problem+json');
  expect(head).toContain('x-request-id: mine');
  expect(head).toContain('connection: close');
}

describe('An unusual HTTP request', () => {
  it('without a Host header gets 400 malformed_body, whatever the path', async () => {
    for (const path of ['/health/live', '/nowhere']) {
      const { head, body } = await reply(`GET ${path} HTTP/1.1`);
      expectProblem(head);
      expect(body).toMatchObject({ status: 400, code: 'malformed_body', instance: path, requestId: 'mine' });
    }
  });

  it('of version HTTP/1.0 is accepted without a Host header', async () => {
    const { head } = await reply('GET /health/live HTTP/1.0');
    expect(head).toMatch(/^http\/1\.1 200 /);
  });

  it('with an Expect header other than 100-continue gets 417 expectation_failed, and is logged', async () => {
    gateway.log.length = 0;
    const post = ['POST /v1/messages/send HTTP/1.1', 'Host: x', 'Content-Length: 9'];
    const { head, body } = await reply(...post, 'Expect: 200-maybe');
    expectProblem(head);
    expect(head).toMatch(/^http\/1\.1 417 /);
    expect(body).toMatchObject({ status: 417, code: 'expectation_failed', requestId: 'mine' });
    expect(gateway.log.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ requestId: 'mine', status: 417, msg: 'request.ended' }),
    ]);
  });

  it('with the method CONNECT gets 405 method_not_allowed', async () => {
    const { head, body } = await reply('CONNECT example.com:443 HTTP/1.1', 'Host: example.com');
    expectProblem(head);
    expect(head).toMatch(/^http\/1\.1 405 /);
    expect(head).toContain('allow:');
    expect(body).toMatchObject({ status: 405, code: 'method_not_allowed', requestId: 'mine' });
  });

  it('with the method CONNECT does not crash the gateway if the caller disconnects at once', async () => {
    for (let i = 0; i < 20; i++) {
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
      socket.on('error', () => undefined);
      await new Promise((resolve) =>
        socket.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'.padEnd(9_000, 'x'), resolve),
      );
      socket.resetAndDestroy();
    }
    expect((await gateway.fetch('/health/live')).status).toBe(200);
  });
});
