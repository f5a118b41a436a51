import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { appRoutes } from '@bull-board/api/dist/routes.js';
import { Queue } from 'bullmq';
import { checkRedisRequirements, queueRedisKeyPrefix } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestCluster } from '../../../../test/support/redis-cluster.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import {
  EMPTY_KEY,
  KEY,
  OTHER_KEY,
  problemOf,
  startTestGateway,
  type TestGateway,
} from '../fixtures/gateway.js';
import { makeKey, makeToken } from '../fixtures/tokens.js';
import { isNavigationToQueues } from './console-navigation.js';

const PHONE_NUMBER = '+14155550123';
const SECRET = 'a-text-that-must-not-be-shown';
const FRAME = '/console/queues/board';

let redis: TestRedis;
let gateway: TestGateway;
let relay: Queue;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
  relay = new Queue('relay', {
    connection: { url: redis.url },
    prefix: queueRedisKeyPrefix('tidings', 'relay'),
  });
  const data = { account: 'default', lane: PHONE_NUMBER, more: [PHONE_NUMBER], text: SECRET };
  await relay.add('hint', data, { jobId: 'job-1', delay: 600_000 });
});
afterAll(async () => {
  await relay.close();
  await gateway.dispose();
  await redis.dispose();
});

/** The page, and every path with data, of which one does not exist. */
function protectedPaths(): string[] {
  const paths = [...readsOfBullBoard(), '/nothing'].map((path) =>
    path.replace(':queueName', 'relay').replace(':jobId', 'job-1'),
  );
  return [
    ...['', '/', '/queue/relay', '/queue/relay/job-1', '/job-schedulers'].map(
      (path) => `/console/queues${path}`,
    ),
    ...paths.flatMap((path) => [`/console/queues/api${path}`, `${FRAME}/api${path}`]),
  ];
}

function readsOfBullBoard(): string[] {
  return appRoutes.api
    .filter(({ method }) => method === 'get')
    .flatMap(({ route }) => route)
    .map((route) => route.slice('/api'.length));
}

async function statusesOf(
  paths: readonly string[],
  init: Parameters<TestGateway['fetch']>[1],
): Promise<number[]> {
  const statuses: number[] = [];
  for (const path of paths) {
    const reply = await gateway.fetch(path, init);
    if (reply.status >= 400 && init?.method !== 'HEAD') await problemOf(reply);
    statuses.push(reply.status);
  }
  return statuses;
}

async function readJson(path: string): Promise<unknown> {
  const reply = await gateway.fetch(path);
  expect(reply.status).toBe(200);
  expect(reply.headers.get('cache-control')).toBe('no-store');
  return await reply.json();
}

describe('The BullMQ queues at /console/queues/api', () => {
  it('are read over the existing Redis connection of the gateway', async () => {
    const own = gateway.redis.listenerCount('error');
    const connections = async (): Promise<number> => {
      const list = String(await gateway.redis.call('CLIENT', 'LIST'));
      return list.trim().split('\n').length;
    };
    const before = await connections();
    await readJson('/console/queues/api/queues');
    await readJson('/console/queues/api/queues/relay/job-1/flow');
    expect(await connections()).toBe(before);
    expect(gateway.redis.listenerCount('error')).toBeGreaterThan(own);
  });

  it('are all listed as read-only, with their jobs', async () => {
    expect(await readJson('/console/queues/api/queues?activeQueue=relay&status=delayed')).toMatchObject({
      queues: [
        {
          name: 'relay',
          readOnlyMode: true,
          allowRetries: false,
          counts: { delayed: 1 },
          jobs: [{ id: 'job-1' }],
        },
        { name: 'poll', readOnlyMode: true, jobs: [] },
        { name: 'deliveries', readOnlyMode: true, jobs: [] },
      ],
    });
  });

  it('show neither complete phone numbers nor message texts from the data of a job', async () => {
    const paths = [
      'queues?activeQueue=relay',
      'queues/relay/job-1',
      'queues/relay/job-1/logs',
      'job-schedulers',
    ];
    const shown = await Promise.all(
      paths.map(async (path) => JSON.stringify(await readJson(`/console/queues/api/${path}`))),
    );
    expect(shown.join('\n')).toContain('"data":{"account":"default","recipient":"…123","moreRecipients":1}');
    expect(shown.join('\n')).not.toMatch(new RegExp(`${SECRET}|5550123`));
  });

  it('require an API key of the account "default" with the scope admin: 401 without a valid API key, 403 with another API key or a token', async () => {
    const paths = protectedPaths();
    const admin = await makeKey(gateway, { account: 'default', scopes: ['admin'] });
    const { token } = await makeToken(gateway);
    const all = (status: number): number[] => paths.map(() => status);
    expect(await statusesOf(paths, { key: null })).toEqual(all(401));
    expect(await statusesOf(paths, { key: 'unknown' })).toEqual(all(401));
    expect(await statusesOf(paths, { key: OTHER_KEY })).toEqual(all(403));
    expect(await statusesOf(paths, { key: EMPTY_KEY })).toEqual(all(403));
    expect(await statusesOf(paths, { token })).toEqual(all(403));
    const served = paths.map((path) => (path.endsWith('/nothing') ? 404 : 200));
    for (const key of [KEY, admin.key]) expect(await statusesOf(paths, { key })).toEqual(served);
    expect(await statusesOf(paths, { key: null, method: 'HEAD' })).toEqual(all(401));
  });

  it('are served at every path that Bull Board reads', async () => {
    for (const path of readsOfBullBoard()) {
      const url = `/console/queues/api${path}`.replace(':queueName', 'relay').replace(':jobId', 'job-1');
      expect([url, (await gateway.fetch(url)).status]).toEqual([url, 200]);
    }
  });

  it('are returned with the remaining requests of the API key in the header RateLimit-Remaining', async () => {
    const reply = await gateway.fetch('/console/queues/api/queues');
    expect(Number(reply.headers.get('ratelimit-remaining'))).toBeGreaterThan(0);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'are read-only: %s is answered with 405 at every path, with and without an API key',
    async (method) => {
      const writes = appRoutes.api
        .filter((route) => route.method !== 'get')
        .flatMap(({ route }) => route)
        .map((route) => `/console/queues${route.replace(':queueName', 'relay').replace(':jobId', 'job-1')}`);
      expect(writes.length).toBeGreaterThan(10);
      for (const key of [KEY, null])
        for (const path of [...protectedPaths(), ...writes, FRAME]) {
          const reply = await gateway.fetch(path, { method, key });
          expect((await problemOf(reply)).code).toBe('method_not_allowed');
          expect(reply.headers.get('allow')).toBe('GET, HEAD');
        }
      expect(await relay.getDelayedCount()).toBe(1);
    },
  );

  it.each(['wait', 'meta', 'delayed', 'job-1:lock', '%25', '9', 'x'.repeat(300)])(
    'return 404 for the unknown job id %s',
    async (id) => {
      const reply = await gateway.fetch(`/console/queues/api/queues/relay/${id}`);
      expect((await problemOf(reply)).code).toBe('not_found');
    },
  );

  it.each([
    ['activeQueue=%25', 200],
    ['activeQueue=toString', 200],
    ['activeQueue=relay&activeQueue=poll', 200],
    ['page=0', 400],
    ['jobsPerPage=1000000', 400],
    ['activeQueue=relay&status=nothing', 400],
  ])('requested with the query string %s return the status %d', async (query, status) => {
    expect((await gateway.fetch(`/console/queues/api/queues?${query}`)).status).toBe(status);
  });

  it('can also be read on a Redis Cluster', async () => {
    const cluster = await startTestCluster();
    const other = await startTestGateway({ redisUrl: cluster.url });
    try {
      // Every start of a gateway does this: it opens the connections to all masters.
      await checkRedisRequirements(other.redis);
      for (const path of ['queues?activeQueue=poll', 'redis/stats', 'job-schedulers', 'queues/poll/workers'])
        expect([path, (await other.fetch(`/console/queues/api/${path}`)).status]).toEqual([path, 200]);
    } finally {
      await other.dispose();
      await cluster.dispose();
    }
  });

  it('cannot be read while Redis hangs (503), and can be read again afterwards', async () => {
    const own = await startTestRedis();
    const other = await startTestGateway({ redisUrl: own.url });
    try {
      own.server.kill('SIGSTOP');
      const reply = await other.fetch('/console/queues/api/queues');
      expect((await problemOf(reply)).code).toBe('unavailable');
      own.server.kill('SIGCONT');
      await eventually('the queues are shown', async () => {
        const shown = await other.fetch('/console/queues/api/queues');
        return shown.status === 200;
      });
    } finally {
      await other.dispose();
      await own.dispose();
    }
  });
});

describe('The web page of the BullMQ queues', () => {
  it.each([
    FRAME,
    `${FRAME}/`,
    `${FRAME}/queue/relay`,
    `${FRAME}/queue/relay/job-1`,
    `${FRAME}/job-schedulers`,
  ])(
    'loads without a credential in an iframe of the same origin, and its HTML contains no data of the queues (%s)',
    async (path) => {
      const reply = await gateway.fetch(path, { key: null });
      expect(reply.status).toBe(200);
      expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(reply.headers.get('x-frame-options')).toBe('SAMEORIGIN');
      const policy = reply.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self';");
      expect(policy).toContain("frame-ancestors 'self'");
      expect(policy).not.toContain('unsafe');
      const text = await reply.text();
      expect(text).not.toMatch(/relay|job-1|https?:/);
      expect(text).not.toMatch(/<script(?![^>]* (src=|type="application\/json"))|<style|style=| on\w+=/);
    },
  );

  it('is the same inside and outside an iframe, except for the base path of its links', async () => {
    const [framed, own] = await Promise.all(
      [FRAME, '/console/queues'].map(async (path) => await (await gateway.fetch(path)).text()),
    );
    expect(own).toContain('<base href="/console/queues/" />');
    expect(own?.replace('/console/queues/', `${FRAME}/`)).toBe(framed);
  });

  it.each(['/console/queues', FRAME])(
    'refers only to files that can be loaded without a credential (%s)',
    async (base) => {
      const text = await (await gateway.fetch(base)).text();
      const names = [...text.matchAll(/(?:href|src)="((?:static\/|bridge)[^"]+)"/g)].map(([, name]) => name);
      expect(names.length).toBeGreaterThanOrEqual(6);
      for (const name of names) {
        const reply = await gateway.fetch(`${base}/${name}`, { key: null });
        expect([name, reply.status]).toEqual([name, 200]);
        const type = name?.endsWith('.js') === true ? 'text/javascript' : /text\/css|image\/svg/;
        expect(reply.headers.get('content-type')).toMatch(type);
      }
    },
  );

  it.each(['%2e%2e/index.ejs', '..%2findex.ejs', '..%2f..%2fpackage.json', 'js', ''])(
    'has no file at static/%s: 404',
    async (name) => {
      const reply = await gateway.fetch(`${FRAME}/static/${name}`, { key: null });
      expect((await problemOf(reply)).code).toBe('not_found');
    },
  );
});

describe('A request for the web page of the BullMQ queues', () => {
  const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  const to = (url: string, headers: Record<string, string>, method = 'GET'): boolean =>
    isNavigationToQueues({ url, headers, method } as unknown as Parameters<typeof isNavigationToQueues>[0]);

  it('counts as a navigation only if a browser tab sends it as a GET request without a credential', () => {
    expect(to('/console/queues?a=b', NAVIGATION)).toBe(true);
    expect(to('/console/queues/', NAVIGATION)).toBe(true);
    expect(to('/console/queues/api/queues', NAVIGATION)).toBe(false);
    expect(to('/console/queues', { ...NAVIGATION, 'sec-fetch-dest': 'iframe' })).toBe(false);
    expect(to('/console/queues', { ...NAVIGATION, 'x-api-key': KEY })).toBe(false);
    expect(to('/console/queues', { ...NAVIGATION, authorization: 'Bearer x' })).toBe(false);
    expect(to('/console/queues', NAVIGATION, 'POST')).toBe(false);
    expect(to('/console/queues', {})).toBe(false);
  });
});
