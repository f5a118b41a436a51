import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { makeToken } from '../fixtures/tokens.js';

const PATH = '/v1/contacts/own/messages';

let redis: TestRedis;
let gateway: TestGateway;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
  // Two of these responses together exceed the limit of unread responses for one token.
  gateway.upstream.reply = JSON.stringify({ messages: [{ id: 'm', message: 'x'.repeat(9 * 1_048_576) }] });
});
afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

/** Sends a request, and reads the beginning of the response only. */
async function readNothing(token: string): Promise<Socket> {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  socket.write(`GET ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await once(socket, 'readable');
  return socket;
}

it('a token whose caller does not read a large response gets no second large response until the first response is aborted; other callers still get their responses', async () => {
  const [{ token }, { token: other }] = [await makeToken(gateway), await makeToken(gateway)];
  const restricted = (await makeToken(gateway, { scopes: ['messages:read'], contactIds: ['own'] })).token;
  const unread = await readNothing(restricted);
  const refused = await gateway.fetch(PATH, { token: restricted });
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(await problemOf(refused)).toMatchObject({
    ...{ status: 429, code: 'rate_limited' },
    detail: 'The token has reached its limit of memory for responses that callers have not read yet.',
  });
  expect((await gateway.fetch('/v1/caller', { token: restricted })).status).toBe(200);
  for (const caller of [{ token }, { token: other }, {}]) {
    const reply = await gateway.fetch(PATH, caller);
    expect(reply.status).toBe(200);
    await reply.arrayBuffer();
  }
  unread.destroy();
  await eventually('the token gets a response again', async () => {
    const reply = await gateway.fetch(PATH, { token: restricted });
    await reply.arrayBuffer();
    return reply.status === 200;
  });
});
