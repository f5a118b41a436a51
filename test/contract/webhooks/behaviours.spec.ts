import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server as TcpServer, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Attempt, Delivery } from '#webhooks';
import { deliveryId } from '#webhooks';
import {
  TEST_CERTIFICATE,
  TEST_PRIVATE_KEY,
} from '../../../libs/webhooks/src/destination/fixtures/certificate.js';
import { eventually } from '../../support/eventually.js';
import { liveBytes } from '../../support/live-memory.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { ACCOUNT, WebhookHarness } from './webhook-harness.js';

/** Timeout of a whole exchange, in milliseconds. */
const TIMEOUT_MS = 600;
/** Waits before the second and third attempt, in seconds. They clearly exceed the duration of an attempt. */
const SCHEDULE = [0.3, 0.5];
const WAITS_MS = SCHEDULE.map((seconds) => seconds * 1_000);
/** Max size of a delivery in Redis, in bytes: three attempts with 1 KB of reply each, and their other fields. */
const MAX_RECORD_BYTES = 8 * 1_024;

let redis: TestRedis;
let harness: WebhookHarness;
const open: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(async () => {
  await redis.dispose();
});
beforeEach(async () => {
  harness = await WebhookHarness.open(redis.url);
});
afterEach(async () => {
  await harness.close();
  for (const close of open.splice(0).reverse()) await close();
});

/** Starts a server on a loopback address that counts its connections. The server closes after the test. */
async function listen(server: TcpServer): Promise<{ port: number; connections: () => number }> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((closed) => server.close(closed));
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

/** Writes an endless body as fast as the client reads. */
function endlessly(response: ServerResponse): void {
  const more = (): void => {
    while (!response.destroyed && response.write('x'.repeat(16_384)));
  };
  response.on('drain', more);
  more();
}

function drip(response: ServerResponse): void {
  const drops = setInterval(() => response.write('x'), 50);
  response.on('close', () => {
    clearInterval(drops);
  });
}

/** Answers the first request with `first`, and all later requests with 204. */
function once204(first: (response: ServerResponse) => void): RequestListener {
  let requests = 0;
  return (_, response) => {
    if (++requests === 1) first(response);
    else response.writeHead(204).end();
  };
}

/** Returns a whole second, one to two seconds from now. HTTP dates have no fractions of seconds. */
function soon(): Date {
  return new Date((Math.floor(Date.now() / 1_000) + 2) * 1_000);
}

interface Expected {
  /** For each attempt, the status or a pattern of its error. */
  attempts: (number | RegExp)[];
  status: Delivery['status'];
  /** Min waits between attempts, in milliseconds. Default: the schedule. */
  waitsMs?: number[];
  /** `all` if each attempt must last for its whole timeout. */
  duration?: 'short' | 'all';
  disabled?: true;
}
const THRICE = { status: 'failed' } as const;

/** What the receiver answers with, which attempts the answer causes, and what the test expects. */
const BEHAVIOURS: [answer: string, causes: string, listener: RequestListener, expected: Expected][] = [
  ['200', 'one attempt', (_, response) => response.end('ok'), { attempts: [200], status: 'succeeded' }],
  [
    '204',
    'one attempt',
    (_, response) => response.writeHead(204).end(),
    { attempts: [204], status: 'succeeded' },
  ],
  [
    '400',
    'all scheduled attempts',
    (_, response) => response.writeHead(400).end(),
    { attempts: [400, 400, 400], ...THRICE },
  ],
  [
    '404',
    'all scheduled attempts',
    (_, response) => response.writeHead(404).end(),
    { attempts: [404, 404, 404], ...THRICE },
  ],
  [
    '410',
    'one attempt and the disabling of the webhook',
    (_, response) => response.writeHead(410).end(),
    { attempts: [410], status: 'failed', disabled: true },
  ],
  [
    '429 and a Retry-After in seconds',
    'a second attempt after the requested time',
    once204((response) => response.writeHead(429, { 'retry-after': '2' }).end()),
    { attempts: [429, 204], status: 'succeeded', waitsMs: [2_000] },
  ],
  [
    '429 and a Retry-After date',
    'a second attempt after the requested date',
    once204((response) => response.writeHead(429, { 'retry-after': soon().toUTCString() }).end()),
    { attempts: [429, 204], status: 'succeeded', waitsMs: [900] },
  ],
  [
    '500',
    'all scheduled attempts',
    (_, response) => response.writeHead(500).end(),
    { attempts: [500, 500, 500], ...THRICE },
  ],
  [
    '503',
    'all scheduled attempts',
    (_, response) => response.writeHead(503).end(),
    { attempts: [503, 503, 503], ...THRICE },
  ],
  [
    '503 and a Retry-After',
    'a second attempt after the requested time',
    once204((response) => response.writeHead(503, { 'retry-after': '1' }).end()),
    { attempts: [503, 204], status: 'succeeded', waitsMs: [1_000] },
  ],
  [
    'no headers',
    'all scheduled attempts, each for the whole timeout',
    () => undefined,
    {
      attempts: [/^no reply within 600 ms$/, /^no reply/, /^no reply/],
      duration: 'all',
      ...THRICE,
    },
  ],
  [
    'an unfinished body',
    'all scheduled attempts, each for the whole timeout',
    (_, response) => {
      response.writeHead(200).write('so far');
    },
    {
      attempts: [/^status 200, but no complete reply within 600 ms$/, /^status 200/, /^status 200/],
      duration: 'all',
      ...THRICE,
    },
  ],
  [
    'a body of slow single bytes',
    'all scheduled attempts, each for the whole timeout',
    (_, response) => {
      drip(response.writeHead(200));
    },
    {
      attempts: [/no complete reply/, /no complete reply/, /no complete reply/],
      duration: 'all',
      ...THRICE,
    },
  ],
  [
    '200 and an endless body',
    'one attempt',
    (_, response) => {
      endlessly(response.writeHead(200));
    },
    { attempts: [200], status: 'succeeded' },
  ],
  [
    '500 and an endless body',
    'all scheduled attempts',
    (_, response) => {
      endlessly(response.writeHead(500));
    },
    { attempts: [500, 500, 500], ...THRICE },
  ],
  [
    'a connection reset before the headers',
    'all scheduled attempts',
    (request) => {
      request.socket.resetAndDestroy();
    },
    {
      attempts: [/ECONNRESET|other side closed/, /ECONNRESET|other side/, /ECONNRESET|other side/],
      ...THRICE,
    },
  ],
  [
    'a connection reset in the body',
    'all scheduled attempts',
    (request, response) => {
      response.writeHead(200).write('so far', () => request.socket.resetAndDestroy());
    },
    { attempts: [/ECONNRESET|terminated|other side/, /./, /./], ...THRICE },
  ],
];

/** Delivers one event to one endpoint and waits until the delivery is finished. */
async function delivered(url: string): Promise<{ delivery: Delivery; endpointId: string }> {
  harness.startRunner(SCHEDULE, { timeoutMs: TIMEOUT_MS });
  const { endpoint } = await harness.endpoints.create(ACCOUNT, { url: 'http://127.0.0.1:9/' });
  // Bypasses the check of the URL, since a valid URL can become forbidden later.
  const key = `${harness.prefix}:{${ACCOUNT}}:webhooks`;
  const stored = JSON.parse((await harness.redis.hget(key, endpoint.id)) ?? '') as object;
  await harness.redis.hset(key, endpoint.id, JSON.stringify({ ...stored, url }));
  const events = await harness.record(1);
  await harness.dispatcher.dispatch(ACCOUNT, events);
  const id = deliveryId(events[0]?.id ?? '', endpoint.id);
  const delivery = await eventually('the delivery is finished', async () => {
    const found = await harness.deliveries.find(ACCOUNT, id);
    return found?.finishedAt === null ? undefined : found;
  });
  return { delivery, endpointId: endpoint.id };
}

async function check(
  { delivery, endpointId }: Awaited<ReturnType<typeof delivered>>,
  { attempts, status, waitsMs = WAITS_MS, duration = 'short', disabled }: Expected,
): Promise<void> {
  expect(delivery.attempts.map(describeAttempt)).toEqual(
    attempts.map((one): unknown => (typeof one === 'number' ? String(one) : expect.stringMatching(one))),
  );
  expect(delivery).toMatchObject({ status, nextAttemptAt: null });
  const { attempts: made } = delivery;
  for (const [n, { durationMs, reply }] of made.entries()) {
    if (duration === 'all') expect(durationMs).toBeGreaterThanOrEqual(TIMEOUT_MS - 1);
    expect(durationMs).toBeLessThan(TIMEOUT_MS * 2);
    expect(reply.length).toBeLessThanOrEqual(1_024);
    const before = made[n - 1];
    if (before === undefined) continue;
    const waited = Date.parse(made[n]?.at ?? '') - Date.parse(before.at) - before.durationMs;
    // `at` and `durationMs` are rounded separately.
    expect(waited).toBeGreaterThanOrEqual((waitsMs[n - 1] ?? 0) - 2);
  }
  expect(await harness.endpoints.find(ACCOUNT, endpointId)).toMatchObject({
    enabled: disabled === undefined,
  });
  const key = `${harness.prefix}:{${ACCOUNT}}:delivery:${delivery.id}`;
  expect(await harness.redis.memory('USAGE', key, 'SAMPLES', 0)).toBeLessThan(MAX_RECORD_BYTES);
}

function describeAttempt({ statusCode, error }: Attempt): string {
  return error ?? String(statusCode);
}

describe('a receiver', () => {
  it.each(BEHAVIOURS)('that answers with %s causes %s', async (_, __, answer, expected) => {
    const { port } = await listen(createServer(drained(answer)));
    await check(await delivered(`http://127.0.0.1:${port}/hook`), expected);
  });

  it('that redirects to another address causes no connection to that address', async () => {
    const elsewhere = await listen(createServer((_, response) => response.end()));
    const location = `http://127.0.0.1:${elsewhere.port}/`;
    const { port } = await listen(createServer((_, response) => response.writeHead(301, { location }).end()));
    const result = await delivered(`http://127.0.0.1:${port}/`);
    await check(result, { attempts: [301, 301, 301], ...THRICE });
    expect(elsewhere.connections()).toBe(0);
  });

  it('with an untrusted certificate receives no request', async () => {
    let requests = 0;
    const server = createTlsServer({ key: TEST_PRIVATE_KEY, cert: TEST_CERTIFICATE }, (_, response) => {
      requests++;
      response.end();
    });
    const { port } = await listen(server);
    const untrusted = /self-signed|self signed|unable to verify/i;
    await check(await delivered(`https://localhost:${port}/`), {
      attempts: [untrusted, untrusted, untrusted],
      ...THRICE,
    });
    expect(requests).toBe(0);
  });

  it('at an unresolvable host name gets no request, and every attempt fails', async () => {
    const unknown = /ENOTFOUND|EAI_AGAIN/;
    await check(await delivered('https://nobody.invalid/'), {
      attempts: [unknown, unknown, unknown],
      ...THRICE,
    });
  });

  it('at a closed port gets no request, and every attempt fails', async () => {
    const server = createServer();
    const { port } = await listen(server);
    await new Promise((closed) => server.close(closed));
    const refused = /ECONNREFUSED/;
    await check(await delivered(`http://127.0.0.1:${port}/`), {
      attempts: [refused, refused, refused],
      ...THRICE,
    });
  });
});

describe('the memory of a worker', () => {
  it('stays bounded while fifty endless replies arrive at the same time', async () => {
    const { port } = await listen(
      createServer(
        drained((_, response) => {
          endlessly(response.writeHead(200));
        }),
      ),
    );
    const { endpoint } = await harness.endpoints.create(ACCOUNT, { url: `http://127.0.0.1:${port}/` });
    // No attempt ends by its timeout, however busy the machine is.
    harness.startRunner([], { maxConcurrency: 50, timeoutMs: 60_000 });
    await harness.dispatcher.dispatch(ACCOUNT, await harness.record(50));
    const settled = async (): Promise<boolean> => {
      const { deliveries } = await harness.deliveries.list(ACCOUNT, endpoint.id, {
        limit: 1,
        status: 'pending',
      });
      return deliveries.length === 0;
    };
    await eventually('the first deliveries are finished', settled, 40_000);
    const before = liveBytes();
    await harness.dispatcher.dispatch(ACCOUNT, await harness.record(200));
    let maxGrowth = 0;
    // Measuring collects garbage, which is slow, so the test measures at intervals.
    for (let looked = 0; !(await settled());) {
      await pause(10);
      if (performance.now() - looked < 300) continue;
      maxGrowth = Math.max(maxGrowth, liveBytes() - before);
      looked = performance.now();
    }
    // Fifty concurrent replies, each with one socket read and the receiver's write buffer.
    expect(maxGrowth).toBeLessThan(32 * 1_024 * 1_024);
    const page = await harness.deliveries.list(ACCOUNT, endpoint.id, { limit: 1_000 });
    expect(page.deliveries.filter(({ status }) => status === 'succeeded')).toHaveLength(250);
  });
});

/** Reads the whole request before calling `answer`. */
function drained(answer: RequestListener): RequestListener {
  return (request: IncomingMessage, response) => {
    request.resume();
    request.on('end', () => {
      answer(request, response);
    });
  };
}
