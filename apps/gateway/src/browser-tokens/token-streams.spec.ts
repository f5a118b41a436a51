import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisEventLog } from '#events';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { someEvent } from '../fixtures/events.js';
import { KEY, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { openStream, type StreamClient } from '../fixtures/stream-client.js';
import { makeKey, makeToken } from '../fixtures/tokens.js';

/** Limit for the end of a stream after a revocation, in milliseconds. */
const SOON_MS = 1_000;

let server: TestRedis;
let one: TestGateway;
let two: TestGateway;

beforeAll(async () => {
  server = await startTestRedis();
  [one, two] = (await Promise.all(
    [server, server].map(({ url }) => startTestGateway({ redisUrl: url })),
  )) as [TestGateway, TestGateway];
});
afterAll(async () => {
  await Promise.all([one.dispose(), two.dispose()]);
  await server.dispose();
});
beforeEach(async () => {
  await one.redis.flushall();
});

async function open(gateway: TestGateway, token: string): Promise<StreamClient> {
  const client = await openStream(`${gateway.url}/v1/events/stream`, { authorization: `Bearer ${token}` });
  if (client.response.statusCode === 200) await eventually('the stream is open', () => client.lastId());
  return client;
}

/** Resolves to the milliseconds from `begin` to the end of each stream, each of which must end cleanly. */
async function msUntilEnd(clients: readonly StreamClient[], begin: number): Promise<number[]> {
  return await Promise.all(
    clients.map(async ({ ended }) => {
      expect(await ended).toBe(true);
      return performance.now() - begin;
    }),
  );
}

const revokeToken = (id: string): Promise<Response> => one.fetch(`/v1/tokens/${id}`, { method: 'DELETE' });
const revokeKey = (id: string): Promise<Response> => one.fetch(`/v1/api-keys/${id}`, { method: 'DELETE' });
const report = (what: string, times: readonly number[]): void => {
  process.stdout.write(`${what}: at most ${Math.round(Math.max(...times))} ms\n`);
};

describe('the event streams of a token', () => {
  it('end at every gateway within a second of its revocation, and the streams of other tokens go on', async () => {
    const [gone, stays] = [await makeToken(one), await makeToken(one)];
    const clients = await Promise.all([open(one, gone.token), open(two, gone.token), open(two, gone.token)]);
    const other = await open(two, stays.token);
    const begin = performance.now();
    await revokeToken(gone.id);
    const times = await msUntilEnd(clients, begin);
    report('from the revocation of a token to the end of its streams', times);
    expect(Math.max(...times)).toBeLessThan(SOON_MS);
    expect((await open(two, gone.token)).response.statusCode).toBe(401);
    await new RedisEventLog(one.redis, 'tidings').append('default', [someEvent('message.sent', 1)]);
    await eventually('the other stream gets events', () => other.events().length === 1);
    for (const client of clients) expect(client.events()).toEqual([]);
    other.disconnect();
  });

  it('end at every gateway within a second of the revocation of its API key', async () => {
    const { id, key } = await makeKey(one);
    const tokens = await Promise.all([makeToken(one, {}, key), makeToken(one, { contactIds: ['c1'] }, key)]);
    const clients = await Promise.all(tokens.flatMap(({ token }) => [open(one, token), open(two, token)]));
    const begin = performance.now();
    await revokeKey(id);
    const times = await msUntilEnd(clients, begin);
    report('from the revocation of an API key to the end of the streams of its tokens', times);
    expect(Math.max(...times)).toBeLessThan(SOON_MS);
  });

  it('end within a second of the deletion of their account', async () => {
    const sales = { id: 'sales', baseUrl: 'https://upstream.example/v1', apiKey: 'k' };
    await one.fetch('/v1/accounts', {
      ...{ method: 'POST', body: JSON.stringify(sales) },
      headers: { 'content-type': 'application/json' },
    });
    const { key } = await makeKey(one, { account: 'sales' });
    const client = await open(two, (await makeToken(one, {}, key)).token);
    const begin = performance.now();
    await one.fetch('/v1/accounts/sales', { method: 'DELETE' });
    expect(Math.max(...(await msUntilEnd([client], begin)))).toBeLessThan(SOON_MS);
  });

  it('end when the token expires, and not before', async () => {
    const { token, expiresAt } = await makeToken(one, { expiresInSeconds: 2 });
    const clients = await Promise.all([open(one, token), open(two, token)]);
    for (const { ended } of clients) expect(await ended).toBe(true);
    // The expiry is by Redis' clock, which is that of this machine.
    const lateMs = Date.now() - Date.parse(expiresAt);
    process.stdout.write(`the streams ended ${lateMs} ms after the expiry of their token\n`);
    expect(lateMs).toBeGreaterThan(-250);
    expect(lateMs).toBeLessThan(SOON_MS);
    expect((await open(one, token)).response.statusCode).toBe(401);
  });
});

/** True if a gateway waits for events of the account. */
const isPollWaiting = async (): Promise<boolean> =>
  ((await one.redis.call('PUBSUB', 'CHANNELS', 'tidings:{default}:*')) as string[]).length > 0;

describe('a long poll that is authenticated with a token', () => {
  it.each([
    ['the token', (ids: { token: string }) => revokeToken(ids.token)],
    ['its API key', (ids: { key: string }) => revokeKey(ids.key)],
  ])('gets 401 within a second of the revocation of %s', async (_, revoke) => {
    const key = await makeKey(one);
    const { id, token } = await makeToken(one, {}, key.key);
    const waiting = two.fetch('/v1/events?after=now&wait=30', { token });
    await eventually('the poll waits', isPollWaiting);
    const begin = performance.now();
    await revoke({ token: id, key: key.id });
    expect((await waiting).status).toBe(401);
    expect(performance.now() - begin).toBeLessThan(SOON_MS);
  });

  it('returns events, and ends at the expiry of the token', async () => {
    const { token, expiresAt } = await makeToken(one, { expiresInSeconds: 2 });
    const first = two.fetch('/v1/events?wait=30', { token });
    await new RedisEventLog(one.redis, 'tidings').append('default', [someEvent('message.sent', 1)]);
    expect(((await (await first).json()) as { events: unknown[] }).events).toHaveLength(1);
    const second = two.fetch('/v1/events?after=now&wait=30', { token });
    await eventually('the second poll waits', isPollWaiting);
    expect([200, 401]).toContain((await second).status);
    // The expiry is by Redis' clock, which is that of this machine.
    const lateMs = Date.now() - Date.parse(expiresAt);
    expect(lateMs).toBeGreaterThan(-500);
    expect(lateMs).toBeLessThan(SOON_MS);
    expect((await two.fetch('/v1/events', { key: KEY })).status).toBe(200);
  });
});
