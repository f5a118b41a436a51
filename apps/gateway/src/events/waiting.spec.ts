import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type EventLog, type EventLogNotifier, formatCursor, RedisEventLog } from '#events';
import { eventually } from '../../../../test/support/eventually.js';
import { liveBytes } from '../../../../test/support/live-memory.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { revisionIn, someEvent } from '../fixtures/events.js';
import { KEY, OTHER_KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { openStream, type StreamClient } from '../fixtures/stream-client.js';
import { makeToken } from '../fixtures/tokens.js';
import { EVENT_LOG, EVENT_LOG_NOTIFIER, EVENT_WAITS } from '../tokens.js';
import { WAIT_SETTINGS, type WaitSettings } from './wait-settings.js';

let redis: TestRedis;
let revision = 0;

beforeAll(async () => {
  redis = await startTestRedis();
});

afterAll(async () => {
  await redis.dispose();
});

function gatewayWith(changes: Partial<WaitSettings>, redisUrl = redis.url): Promise<TestGateway> {
  const bound = [{ provide: EVENT_WAITS, useValue: { ...WAIT_SETTINGS, ...changes } }];
  return startTestGateway({ redisUrl, bound });
}

async function append(gateway: TestGateway, word = 'x'): Promise<void> {
  const log = new RedisEventLog(gateway.redis, 'tidings');
  revision++;
  await log.append('default', [someEvent('message.sent', revision, 'c1', word)]);
}

async function open(
  gateway: TestGateway,
  headers: Record<string, string> = {},
  query = '',
): Promise<StreamClient> {
  const client = await openStream(`${gateway.url}/v1/events/stream${query}`, {
    'x-api-key': KEY,
    ...headers,
  });
  if (client.response.statusCode === 200) {
    await eventually('the stream is open', () => client.lastId());
  }
  return client;
}

const revisionsIn = (texts: readonly string[]): number[] => texts.map(revisionIn);

/** Asserts that a long poll of 30 seconds gets its response at once. */
async function expectImmediateResponse(gateway: TestGateway, caller: { token?: string } = {}): Promise<void> {
  const began = performance.now();
  expect((await gateway.fetch('/v1/events?after=now&wait=30', caller)).status).toBe(200);
  expect(performance.now() - began).toBeLessThan(10_000);
}

async function subscriptions(gateway: TestGateway): Promise<number> {
  const channels = await gateway.redis.call('PUBSUB', 'CHANNELS', 'tidings:{default}:*');
  return (channels as string[]).length;
}

const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;

describe('A caller that waits for events', () => {
  it('gets an event as soon as the event is recorded, not only at the next periodic check', async () => {
    // Without a notification, the next recheck would come after the timeout of this test.
    await using gateway = await gatewayWith({ recheckMs: 60_000 });
    const [polls, streams]: [number[], number[]] = [[], []];
    const client = await open(gateway);
    const follow = jest.spyOn(gateway.app.get<EventLogNotifier>(EVENT_LOG_NOTIFIER), 'follow');
    for (let round = 1; round <= 20; round++) {
      const poll = gateway.fetch(`/v1/events?after=${String(client.lastId())}&wait=30`);
      await eventually('the poll waits', () => follow.mock.calls.length === round);
      const began = performance.now();
      await append(gateway);
      const done = async (times: number[], what: Promise<unknown>): Promise<void> => {
        await what;
        times.push(performance.now() - began);
      };
      const inStream = new Promise<void>((resolve) => {
        const look = (): void => {
          if (client.events().length < round) return;
          client.response.off('data', look);
          resolve();
        };
        client.response.on('data', look);
        look();
      });
      const answer = poll.then(async (response) => (await response.json()) as { events: unknown[] });
      await Promise.all([done(polls, answer), done(streams, inStream)]);
      expect((await answer).events.length).toBe(1);
    }
    process.stdout.write(
      `ms from append to caller, median of 20: ${JSON.stringify({ poll: median(polls), stream: median(streams) })}\n`,
    );
    client.disconnect();
  });

  it('is no longer counted as a waiting caller after it disconnects, and its Redis subscription ends', async () => {
    await using gateway = await gatewayWith({ maxPerAccount: 1 });
    const aborter = new AbortController();
    const poll = gateway.fetch('/v1/events?after=now&wait=30', { signal: aborter.signal });
    poll.catch(() => undefined);
    await eventually('the poll waits', async () => (await subscriptions(gateway)) === 1);
    expect((await open(gateway)).response.statusCode).toBe(429);
    aborter.abort();
    await eventually('no subscription is left', async () => (await subscriptions(gateway)) === 0);
    const client = await open(gateway);
    expect(client.response.statusCode).toBe(200);
    await eventually('the stream waits', async () => (await subscriptions(gateway)) === 1);
    client.disconnect();
    await eventually('no subscription is left', async () => (await subscriptions(gateway)) === 0);
    const next = await open(gateway);
    expect(next.response.statusCode).toBe(200);
    next.disconnect();
  });

  it.each([
    ['while its streams wait for events', ''],
    ['while its streams have more events than fit in a buffer', '?after=epoch'],
  ])(
    'is no longer counted after it disconnects, even if it sent several requests before the first response (%s)',
    async (_, query) => {
      await using gateway = await gatewayWith({ maxPerAccount: 3 });
      const log = new RedisEventLog(gateway.redis, 'tidings');
      const start = formatCursor(await log.end('default'));
      for (let i = 0; i < 40; i++) await append(gateway, 'x'.repeat(4_000));
      const client = connect(Number(new URL(gateway.url).port), '127.0.0.1');
      await once(client, 'connect');
      const path = `/v1/events/stream${query.replace('epoch', start)}`;
      const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${KEY}\r\n\r\n`;
      client.resume().write(request.repeat(3));
      const status = async (): Promise<number> => {
        const one = await openStream(`${gateway.url}/v1/events/stream`, { 'x-api-key': KEY });
        one.disconnect();
        return one.response.statusCode ?? 0;
      };
      await eventually('the three streams take all slots', async () => (await status()) === 429);
      client.destroy();
      await eventually('the slots are free', async () => {
        const streams = await Promise.all(
          [1, 2, 3].map(() => openStream(`${gateway.url}/v1/events/stream`, { 'x-api-key': KEY })),
        );
        for (const stream of streams) stream.disconnect();
        return streams.every(({ response }) => response.statusCode === 200);
      });
    },
  );

  it('gets 429 for a stream and an immediate response for a long poll if its account has the maximum number of waiting callers; other accounts are not affected', async () => {
    await using gateway = await gatewayWith({ maxPerAccount: 1, max: 2 });
    const client = await open(gateway);
    const refused = await gateway.fetch('/v1/events/stream');
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await problemOf(refused)).toMatchObject({ status: 429, code: 'rate_limited' });
    await expectImmediateResponse(gateway);
    const other = await open(gateway, { 'x-api-key': OTHER_KEY });
    expect(other.response.statusCode).toBe(200);
    client.disconnect();
    other.disconnect();
  });

  it('gets 429 for a stream and an immediate response for a long poll if its token has the maximum number of waiting callers; other callers are not affected', async () => {
    await using gateway = await gatewayWith({ maxPerToken: 1 });
    const [{ token }, other] = [await makeToken(gateway), await makeToken(gateway)];
    const openWith = (one: string): Promise<StreamClient> =>
      openStream(`${gateway.url}/v1/events/stream`, { authorization: `Bearer ${one}` });
    const client = await openWith(token);
    expect(client.response.statusCode).toBe(200);
    expect(await problemOf(await gateway.fetch('/v1/events/stream', { token }))).toMatchObject({
      status: 429,
      code: 'rate_limited',
    });
    await expectImmediateResponse(gateway, { token });
    const others = [await openWith(other.token), await open(gateway)];
    expect(others.map(({ response }) => response.statusCode)).toEqual([200, 200]);
    client.disconnect();
    await eventually(
      'the slot is free',
      async () => (await gateway.fetch('/v1/events/stream', { token, method: 'HEAD' })).status === 200,
    );
    for (const each of others) each.disconnect();
  });

  it('with a token gets 429 for a stream and an immediate response for a long poll while its account has the maximum number of waiting callers with tokens; a caller with an API key is still accepted', async () => {
    await using gateway = await gatewayWith({ maxPerAccount: 3, maxPerAccountForTokens: 2 });
    const tokens = await Promise.all([makeToken(gateway), makeToken(gateway), makeToken(gateway)]);
    const openWith = (one: string): Promise<StreamClient> =>
      openStream(`${gateway.url}/v1/events/stream`, { authorization: `Bearer ${one}` });
    const clients = await Promise.all(tokens.slice(0, 2).map(({ token }) => openWith(token)));
    expect(clients.map(({ response }) => response.statusCode)).toEqual([200, 200]);
    const token = tokens[2].token;
    expect(await problemOf(await gateway.fetch('/v1/events/stream', { token }))).toMatchObject({
      status: 429,
      code: 'rate_limited',
    });
    await expectImmediateResponse(gateway, { token });
    const service = await open(gateway);
    expect(service.response.statusCode).toBe(200);
    clients[0]?.disconnect();
    // After a stream with a token has ended, a caller with a token gets a slot again.
    await eventually(
      'the slot is free',
      async () => (await gateway.fetch('/v1/events/stream', { token, method: 'HEAD' })).status === 200,
    );
    for (const each of [...clients, service]) each.disconnect();
  });

  it('gets 503 when it opens a stream while the gateway has its maximum number of waiting callers', async () => {
    await using gateway = await gatewayWith({ max: 1 });
    const client = await open(gateway, { 'x-api-key': OTHER_KEY });
    const refused = await gateway.fetch('/v1/events/stream');
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await problemOf(refused)).toMatchObject({ status: 503, code: 'unavailable' });
    client.disconnect();
  });

  it('does not count as a waiting caller if its cursor is rejected with 410', async () => {
    await using gateway = await gatewayWith({ maxPerAccount: 1 });
    const foreign = Buffer.from('0123456789abcdef/1-0').toString('base64url');
    for (let i = 0; i < 3; i++) {
      expect((await gateway.fetch(`/v1/events/stream?after=${foreign}`)).status).toBe(410);
    }
    const client = await open(gateway);
    expect(client.response.statusCode).toBe(200);
    client.disconnect();
  });
});

describe('A filter that excludes a long part of the event log', () => {
  /** Replaces the log by one whose pages are all empty and never end. Returns the times at which pages were read. */
  function endlessEmptyPages(gateway: TestGateway): number[] {
    const readAt: number[] = [];
    const log = gateway.app.get<EventLog>(EVENT_LOG);
    jest.spyOn(log, 'read').mockImplementation(async () => {
      readAt.push(performance.now());
      await new Promise(setImmediate);
      return {
        events: [],
        next: { epoch: '0123456789abcdef', position: `${readAt.length}-0` },
        hasMore: true,
      };
    });
    return readAt;
  }
  const meanMs = (readAt: readonly number[]): number =>
    ((readAt.at(-1) ?? 0) - (readAt[0] ?? 0)) / (readAt.length - 1);

  it('makes a long poll read the log page by page, with a pause after each page, until its time limit', async () => {
    await using gateway = await gatewayWith({});
    const readAt = endlessEmptyPages(gateway);
    const began = performance.now();
    const reply = await gateway.fetch('/v1/events?types=contact.deleted&wait=1');
    expect(await reply.json()).toMatchObject({ events: [], hasMore: true });
    expect(performance.now() - began).toBeGreaterThanOrEqual(1_000);
    expect(readAt.length).toBeGreaterThan(2);
    expect(meanMs(readAt)).toBeGreaterThan(5);
  });

  it('does not block the gateway: a stream pauses after each page of the log, and its caller can disconnect at any time', async () => {
    await using gateway = await gatewayWith({ maxPerAccount: 1 });
    const readAt = endlessEmptyPages(gateway);
    const client = await open(gateway, {}, '?types=contact.deleted');
    await eventually('the stream reads further pages', () => readAt.length > 10);
    client.disconnect();
    expect(meanMs(readAt)).toBeGreaterThan(5);
    await eventually('the waiting slot is free', async () => {
      const next = await open(gateway);
      next.disconnect();
      return next.response.statusCode === 200;
    });
  });
});

describe('An event stream', () => {
  it('can be resumed with Last-Event-ID after an interruption, even at another gateway, without lost or duplicate events', async () => {
    await using first = await gatewayWith({});
    await using second = await gatewayWith({});
    const log = new RedisEventLog(first.redis, 'tidings');
    const start = await log.end('default');
    const received: string[] = [];
    let lastId = (await open(first)).lastId();
    const writer = (async () => {
      for (let i = 0; i < 600; i++) await append(first);
    })();
    for (let round = 0; received.length < 600; round++) {
      const client = await open(round % 2 === 0 ? first : second, { 'last-event-id': String(lastId) });
      const size = 1 + Math.floor(Math.random() * 40);
      await eventually(
        'some events arrive',
        () => client.events().length >= Math.min(size, 600 - received.length),
      );
      client.disconnect();
      await client.ended;
      received.push(...client.events());
      lastId = client.lastId();
    }
    await writer;
    const { events } = await log.read('default', start, 1_000);
    expect(revisionsIn(received)).toEqual(events.map(({ data }) => revisionIn(data)));
    expect(received.length).toBe(600);
  });

  it('to a client that stops reading uses little memory and is closed after a timeout; the client can resume without lost events', async () => {
    await using gateway = await gatewayWith({ writeTimeoutMs: 1_500, maxPerAccount: 1 });
    const client = await open(gateway);
    client.response.pause();
    const word = 'x'.repeat(50_000);
    const before = liveBytes();
    for (let i = 0; i < 1_000; i++) await append(gateway, word);
    const grownMb = (liveBytes() - before) / 1_048_576;
    process.stdout.write(
      `50 MB were written to a client that reads nothing: ${grownMb.toFixed(1)} MB of them are held\n`,
    );
    expect(grownMb).toBeLessThan(15);
    // The client stops reading: unread data is in the kernel, and the remaining events are still in the log.
    await eventually('the client is disconnected', async () => {
      const next = await open(gateway);
      next.disconnect();
      return next.response.statusCode === 200;
    });
    client.response.resume();
    expect(await client.ended).toBe(false);
    const received = client.events();
    expect(received.length).toBeLessThan(1_000);
    // The client connects again until it has received everything: an earlier connection may still count, and on a
    // busy machine this client too may be slow.
    let lastId = client.lastId();
    while (received.length < 1_000) {
      const again = await open(gateway, { 'last-event-id': String(lastId) });
      if (again.response.statusCode !== 200) continue;
      await Promise.race([
        again.ended,
        eventually('the remaining events arrive', () => received.length + again.events().length >= 1_000),
      ]);
      again.disconnect();
      await again.ended;
      received.push(...again.events());
      lastId = again.lastId() ?? lastId;
    }
    const all = revisionsIn(received);
    expect(all).toEqual(all.map((_, i) => (all[0] ?? 0) + i));
  });

  it('ends within ten seconds when the gateway stops, even if a client reads nothing, and can be resumed at another gateway', async () => {
    const gateway = await gatewayWith({});
    await using other = await gatewayWith({});
    const clients = await Promise.all([open(gateway), open(gateway), open(gateway)]);
    const [reader, , lazy] = clients;
    lazy.response.pause();
    const word = 'x'.repeat(200_000);
    for (let i = 0; i < 60; i++) await append(gateway, word);
    await eventually('the reading client has all events', () => reader.events().length === 60);
    const began = performance.now();
    await gateway.dispose();
    process.stdout.write(`the stop took ${Math.round(performance.now() - began)} ms\n`);
    expect(performance.now() - began).toBeLessThan(10_000);
    lazy.response.resume();
    expect(await reader.ended).toBe(true);
    expect(await lazy.ended).toBe(false);
    await append(other);
    for (const client of clients) {
      const again = await open(other, { 'last-event-id': String(client.lastId()) });
      await eventually(
        'the remaining events arrive',
        () => client.events().length + again.events().length >= 61,
      );
      const all = revisionsIn([...client.events(), ...again.events()]);
      expect(all).toEqual(all.map((_, i) => (all[0] ?? 0) + i));
      again.disconnect();
    }
  });
});

describe('An event stream while Redis is unavailable', () => {
  it('stays open and sends comments, and sends events again once Redis has restarted', async () => {
    await using own = await startTestRedis();
    await using gateway = await gatewayWith({ commentMs: 100 }, own.url);
    const client = await open(gateway);
    await append(gateway);
    await eventually('the first event is received', () => client.events().length === 1);
    own.server.kill('SIGKILL');
    await own.server.exited;
    const silent = client.blocks.length;
    await eventually('comments arrive', () => client.blocks.length > silent + 3);
    await own.server.restart();
    await eventually('the gateway is connected again', () => gateway.redis.status === 'ready');
    await append(gateway);
    await eventually('the next event is received', () => client.events().length === 2);
    // The notification works again, so the event does not wait for a recheck.
    await eventually('the subscription is restored', async () => (await subscriptions(gateway)) === 1);
    client.disconnect();
  });

  it('cannot be opened: the request gets 503', async () => {
    await using own = await startTestRedis();
    await using gateway = await gatewayWith({}, own.url);
    own.server.kill('SIGKILL');
    await own.server.exited;
    await eventually('the gateway has lost its connection to Redis', () => gateway.redis.status !== 'ready');
    expect(await problemOf(await gateway.fetch('/v1/events/stream'))).toMatchObject({
      status: 503,
      code: 'unavailable',
    });
  });
});
