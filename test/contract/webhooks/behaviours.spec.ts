import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server as TcpServer, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Attempt, Delivery } from '#webhooks';
import { deliveryId } from '#webhooks';
import { CERTIFICATE, KEY } from '../../../libs/webhooks/src/destination/fixtures/certificate.js';
import { eventually } from '../../support/eventually.js';
import { liveBytes } from '../../support/live-memory.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { ACCOUNT, Street } from './street.js';

/** A whole exchange. */
const TIMEOUT_MS = 600;
/** Two more attempts; the waits are long enough to be told from the time that an attempt takes. */
const SCHEDULE = [0.3, 0.5];
const WAITS_MS = SCHEDULE.map((seconds) => seconds * 1_000);
/** Of one delivery's record in Redis, whatever its receiver answered: three attempts of 1 KB and what is known of them. */
const LARGEST_RECORD = 8 * 1_024;

let redis: TestRedis;
let street: Street;
const open: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(async () => {
  await redis.dispose();
});
beforeEach(async () => {
  street = await Street.open(redis.url);
});
afterEach(async () => {
  await street.close();
  for (const close of open.splice(0).reverse()) await close();
});

/** Listens on a private address, counts its connections, and ends with the test. */
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

/** Writes for as long as the other end reads. */
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

/** Answers the first request so, and all others with 204. */
function once204(first: (response: ServerResponse) => void): RequestListener {
  let requests = 0;
  return (_, response) => {
    if (++requests === 1) first(response);
    else response.writeHead(204).end();
  };
}

/** The next whole second that is more than a second away: HTTP's dates know no less. */
function soon(): Date {
  return new Date((Math.floor(Date.now() / 1_000) + 2) * 1_000);
}

interface Expected {
  /** The status of each attempt, or what its error says. */
  attempts: (number | RegExp)[];
  status: Delivery['status'];
  /** The least between the beginnings of attempts, in ms; the schedule's where it is not given. */
  waitsMs?: number[];
  /** How long each attempt took: none, or its whole time. */
  duration?: 'short' | 'all';
  disabled?: true;
}
const THRICE = { status: 'failed' } as const;

const BEHAVIOURS: [string, RequestListener, Expected][] = [
  ['200', (_, response) => response.end('ok'), { attempts: [200], status: 'succeeded' }],
  ['204', (_, response) => response.writeHead(204).end(), { attempts: [204], status: 'succeeded' }],
  ['400', (_, response) => response.writeHead(400).end(), { attempts: [400, 400, 400], ...THRICE }],
  ['404', (_, response) => response.writeHead(404).end(), { attempts: [404, 404, 404], ...THRICE }],
  [
    '410',
    (_, response) => response.writeHead(410).end(),
    { attempts: [410], status: 'failed', disabled: true },
  ],
  [
    '429 with Retry-After in seconds',
    once204((response) => response.writeHead(429, { 'retry-after': '2' }).end()),
    { attempts: [429, 204], status: 'succeeded', waitsMs: [2_000] },
  ],
  [
    '429 with Retry-After as a date',
    once204((response) => response.writeHead(429, { 'retry-after': soon().toUTCString() }).end()),
    { attempts: [429, 204], status: 'succeeded', waitsMs: [900] },
  ],
  ['500', (_, response) => response.writeHead(500).end(), { attempts: [500, 500, 500], ...THRICE }],
  ['503', (_, response) => response.writeHead(503).end(), { attempts: [503, 503, 503], ...THRICE }],
  [
    '503 with Retry-After',
    once204((response) => response.writeHead(503, { 'retry-after': '1' }).end()),
    { attempts: [503, 204], status: 'succeeded', waitsMs: [1_000] },
  ],
  [
    'a hang before the headers',
    () => undefined,
    {
      attempts: [/^no reply within 600 ms$/, /^no reply/, /^no reply/],
      duration: 'all',
      ...THRICE,
    },
  ],
  [
    'a hang in the body',
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
    'a body that drips',
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
    'an endless body with 200',
    (_, response) => {
      endlessly(response.writeHead(200));
    },
    { attempts: [200], status: 'succeeded' },
  ],
  [
    'an endless body with 500',
    (_, response) => {
      endlessly(response.writeHead(500));
    },
    { attempts: [500, 500, 500], ...THRICE },
  ],
  [
    'a reset',
    (request) => {
      request.socket.resetAndDestroy();
    },
    {
      attempts: [/ECONNRESET|other side closed/, /ECONNRESET|other side/, /ECONNRESET|other side/],
      ...THRICE,
    },
  ],
  [
    'a reset in the body',
    (request, response) => {
      response.writeHead(200).write('so far', () => request.socket.resetAndDestroy());
    },
    { attempts: [/ECONNRESET|terminated|other side/, /./, /./], ...THRICE },
  ],
];

/** One event to one endpoint, to its end. */
async function delivered(url: string): Promise<{ delivery: Delivery; endpointId: string }> {
  street.pump(SCHEDULE, { timeoutMs: TIMEOUT_MS });
  const { endpoint } = await street.endpoints.create(ACCOUNT, { url: 'http://127.0.0.1:9/' });
  // What is refused when an endpoint is made may still become of it.
  const key = `${street.prefix}:{${ACCOUNT}}:webhooks`;
  const stored = JSON.parse((await street.redis.hget(key, endpoint.id)) ?? '') as object;
  await street.redis.hset(key, endpoint.id, JSON.stringify({ ...stored, url }));
  const events = await street.record(1);
  await street.dispatcher.dispatch(ACCOUNT, events);
  const id = deliveryId(events[0]?.id ?? '', endpoint.id);
  const delivery = await eventually('its end', async () => {
    const found = await street.deliveries.find(ACCOUNT, id);
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
    // The clock of `at` and the one of `durationMs` are rounded apart.
    expect(waited).toBeGreaterThanOrEqual((waitsMs[n - 1] ?? 0) - 2);
  }
  expect(await street.endpoints.find(ACCOUNT, endpointId)).toMatchObject({ enabled: disabled === undefined });
  const key = `${street.prefix}:{${ACCOUNT}}:delivery:${delivery.id}`;
  expect(await street.redis.memory('USAGE', key)).toBeLessThan(LARGEST_RECORD);
}

function describeAttempt({ statusCode, error }: Attempt): string {
  return error ?? String(statusCode);
}

describe('a receiver that answers', () => {
  it.each(BEHAVIOURS)('with %s', async (_, answer, expected) => {
    const { port } = await listen(createServer(drained(answer)));
    await check(await delivered(`http://127.0.0.1:${port}/hook`), expected);
  });

  it('with a redirect to a private address is not followed there', async () => {
    const elsewhere = await listen(createServer((_, response) => response.end()));
    const location = `http://127.0.0.1:${elsewhere.port}/`;
    const { port } = await listen(createServer((_, response) => response.writeHead(301, { location }).end()));
    const result = await delivered(`http://127.0.0.1:${port}/`);
    await check(result, { attempts: [301, 301, 301], ...THRICE });
    expect(elsewhere.connections()).toBe(0);
  });

  it('with a certificate that nobody vouches for gets no request', async () => {
    let requests = 0;
    const server = createTlsServer({ key: KEY, cert: CERTIFICATE }, (_, response) => {
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

  it('on no name that can be found', async () => {
    const unknown = /ENOTFOUND|EAI_AGAIN/;
    await check(await delivered('https://nobody.invalid/'), {
      attempts: [unknown, unknown, unknown],
      ...THRICE,
    });
  });

  it('on no port at all', async () => {
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
  it('does not grow with endless replies, however many at once', async () => {
    const { port } = await listen(
      createServer(
        drained((_, response) => {
          endlessly(response.writeHead(200));
        }),
      ),
    );
    const { endpoint } = await street.endpoints.create(ACCOUNT, { url: `http://127.0.0.1:${port}/` });
    street.pump([], { maxConcurrency: 50, timeoutMs: 15_000 });
    await street.dispatcher.dispatch(ACCOUNT, await street.record(50));
    const settled = async (): Promise<boolean> => {
      const { deliveries } = await street.deliveries.list(ACCOUNT, endpoint.id, {
        limit: 1,
        status: 'pending',
      });
      return deliveries.length === 0;
    };
    await eventually('a first round', settled, 40_000);
    const before = liveBytes();
    await street.dispatcher.dispatch(ACCOUNT, await street.record(200));
    let most = 0;
    // To look is to collect garbage, which takes its time: now and then will do.
    for (let looked = 0; !(await settled());) {
      await pause(10);
      if (performance.now() - looked < 300) continue;
      most = Math.max(most, liveBytes() - before);
      looked = performance.now();
    }
    // Fifty at once, each with what a socket reads at a time and what the receiver has written ahead.
    expect(most).toBeLessThan(32 * 1_024 * 1_024);
    const page = await street.deliveries.list(ACCOUNT, endpoint.id, { limit: 1_000 });
    expect(page.deliveries.filter(({ status }) => status === 'succeeded')).toHaveLength(250);
  }, 60_000);
});

/** Reads the request to its end before it is answered. */
function drained(answer: RequestListener): RequestListener {
  return (request: IncomingMessage, response) => {
    request.resume();
    request.on('end', () => {
      answer(request, response);
    });
  };
}
