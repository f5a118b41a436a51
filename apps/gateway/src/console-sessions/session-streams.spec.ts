import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { SESSION_LIMITS, type SessionLimits } from '#accounts';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { ConsoleBrowser } from '../fixtures/console.js';
import { KEY, OTHER_KEY, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { openStream, type StreamClient } from '../fixtures/stream-client.js';
import { makeKey } from '../fixtures/tokens.js';

/** Limit for the end of a stream after the end of its session, in milliseconds. */
const SOON_MS = 1_000;

let server: TestRedis;
let gateways: TestGateway[] = [];

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.dispose()));
});

/** Starts two gateways on one Redis. */
async function start(limits: Partial<SessionLimits> = {}): Promise<[TestGateway, TestGateway]> {
  const sessionLimits = { ...SESSION_LIMITS, ...limits };
  const options = { redisUrl: server.url, sessionLimits };
  const [one, two] = [await startTestGateway(options), await startTestGateway(options)];
  gateways = [one, two];
  await one.redis.flushall();
  return [one, two];
}

async function open(gateway: TestGateway, browser: ConsoleBrowser, id: string): Promise<StreamClient> {
  const headers = { ...browser.headersOf(id), cookie: browser.cookie ?? '' };
  const client = await openStream(`${gateway.url}/v1/events/stream`, headers);
  if (client.response.statusCode === 200) await eventually('the stream is open', () => client.lastId());
  return client;
}

async function msUntilEnd(clients: readonly StreamClient[]): Promise<number> {
  const begin = performance.now();
  for (const { ended } of clients) expect(await ended).toBe(true);
  return performance.now() - begin;
}

describe('the event streams of a session', () => {
  it('end at every gateway within a second of the sign-out; the event streams of other sessions continue', async () => {
    const [one, two] = await start();
    const [browser, elsewhere] = [new ConsoleBrowser(one), new ConsoleBrowser(one)];
    const [gone, other, same] = [
      await browser.signIn(KEY),
      await browser.signIn(OTHER_KEY),
      await elsewhere.signIn(KEY),
    ];
    const clients = [await open(one, browser, gone.id), await open(two, browser, gone.id)];
    const others = [await open(two, browser, other.id), await open(two, elsewhere, same.id)];
    await browser.signOut(gone.id);
    expect(await msUntilEnd(clients)).toBeLessThan(SOON_MS);
    for (const client of others) {
      expect(client.response.closed).toBe(false);
      client.disconnect();
    }
    expect((await open(two, browser, gone.id)).response.statusCode).toBe(401);
  });

  it('end within a second of the revocation of its API key', async () => {
    const [one, two] = await start();
    const browser = new ConsoleBrowser(one);
    const { id, key } = await makeKey(one);
    const session = await browser.signIn(key);
    const client = await open(two, browser, session.id);
    await one.fetch(`/v1/api-keys/${id}`, { method: 'DELETE' });
    expect(await msUntilEnd([client])).toBeLessThan(SOON_MS);
  });

  it('do not extend the session, unlike other requests, and end when the idle time of the session is over', async () => {
    const [one, two] = await start({ idleMs: 2_000, renewMs: 100 });
    const browser = new ConsoleBrowser(one);
    const { id } = await browser.signIn();
    const client = await open(two, browser, id);
    const begin = performance.now();
    let last = begin;
    await eventually('the session is older than its idle time', async () => {
      expect((await browser.as(id, '/v1/events?limit=1')).status).toBe(200);
      last = performance.now();
      return last - begin > 2_500;
    });
    expect(client.response.closed).toBe(false);
    expect(await client.ended).toBe(true);
    const idleMs = performance.now() - last;
    expect(idleMs).toBeGreaterThan(1_500);
    expect(idleMs).toBeLessThan(2_000 + SOON_MS);
  });
});

describe('a long poll of a session', () => {
  it('gets 401 within a second of the sign-out', async () => {
    const [one, two] = await start();
    const browser = new ConsoleBrowser(one);
    const { id } = await browser.signIn();
    const headers = { ...browser.headersOf(id), cookie: browser.cookie ?? '' };
    const waiting = two.fetch('/v1/events?after=now&wait=30', { key: null, headers });
    await eventually(
      'the poll waits',
      async () =>
        ((await one.redis.call('PUBSUB', 'CHANNELS', 'tidings:{default}:*')) as string[]).length > 0,
    );
    const begin = performance.now();
    await browser.signOut(id);
    expect((await waiting).status).toBe(401);
    expect(performance.now() - begin).toBeLessThan(SOON_MS);
  });
});
