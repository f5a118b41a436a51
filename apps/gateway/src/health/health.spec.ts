import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisEventLog } from '#events';
import {
  parseProcessInstance,
  digestSettings,
  formatProcessInstance,
  createProcessInstance,
  WORKER_ROLES,
} from '#platform';
import { type BlobStore, BlobStoreUnavailableError, FileBlobStore } from '#blobs';
import { RedisUpstreamHealth } from '#relay';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { json, OTHER_KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { BLOB_STORE, ENVIRONMENT, READINESS_MAX_AGE_MS } from '../tokens.js';
import { accountReasons } from './account-reasons.js';

let redis: TestRedis;
let gateway: TestGateway;

async function start(): Promise<void> {
  redis = await startTestRedis();
  gateway = await startGateway();
}

/** Starts a gateway that checks its readiness for each request, so that no test sees the result of an earlier one. */
function startGateway(environment: Record<string, string> = {}): Promise<TestGateway> {
  const bound = [{ provide: READINESS_MAX_AGE_MS, useValue: 0 }];
  return startTestGateway({ redisUrl: redis.url, environment, bound });
}

async function stop(): Promise<void> {
  await gateway.dispose();
  await redis.dispose();
}

interface Ready {
  code: number;
  status: string;
  reasons: string[];
  details: { code: string; count: number; remedy: string }[];
}

async function ready(asked = gateway): Promise<Ready> {
  const response = await asked.fetch('/health/ready', { key: null });
  return { code: response.status, ...((await response.json()) as Omit<Ready, 'code'>) };
}

/** Waits for a readiness status. */
async function untilReady(status: string): Promise<Awaited<ReturnType<typeof ready>>> {
  const end = performance.now() + 10_000;
  for (;;) {
    const now = await ready();
    if (now.status === status) return now;
    if (performance.now() > end) throw new Error(`still ${now.status}: ${now.reasons.join()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe('The health of the gateway', () => {
  beforeAll(start);
  afterAll(stop);
  beforeEach(async () => {
    // The next heartbeat of the gateway may come only after three seconds.
    const names = (await gateway.redis.keys('*')).filter((name) => name !== 'tidings:gateways');
    if (names.length > 0) await gateway.redis.del(names);
  });

  it('is ok at /health/live, even without an API key', async () => {
    const response = await gateway.fetch('/health/live', { key: null });
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
  });

  it('is degraded while no worker runs, ok when a worker runs, and degraded again while upstream is down', async () => {
    expect(await ready()).toMatchObject({ code: 200, status: 'degraded', reasons: [/no worker/] });
    await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, 'worker-1');
    expect(await untilReady('ok')).toEqual({ code: 200, status: 'ok', reasons: [], details: [] });
    await gateway.redis.hset('tidings:{default}:upstream', 'unavailableSince', '2030-01-01T00:00:00.000Z');
    expect((await untilReady('degraded')).reasons).toEqual([
      expect.stringMatching(/^the messaging service of 1 account is unavailable; /),
    ]);
  });

  it.each([
    ['away', 'upstream_down'],
    ['refused', 'upstream_refused'],
    ['loop', 'upstream_is_tidings'],
  ] as const)('shows an upstream outage of the kind %s with the reason code %s', async (kind, code) => {
    await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, 'worker-1');
    await untilReady('ok');
    await new RedisUpstreamHealth(gateway.redis, 'tidings').recordOutage('default', kind, 'in words');
    expect((await untilReady('degraded')).details).toMatchObject([{ code, count: 1 }]);
  });

  it("is degraded while no worker runs, even if the last heartbeat is from before Redis' clock was set back", async () => {
    await gateway.redis.zadd('tidings:workers', Date.now() + 3_600_000, 'worker-1');
    expect(await ready()).toMatchObject({ reasons: [/no worker/] });
  });

  it('is degraded while no worker has the role relay, and the reason states the effect and the remedy', async () => {
    await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, 'worker-1 roles=poll,dispatch');
    expect((await untilReady('degraded')).reasons).toEqual([
      'no running worker has the role relay: sends are stored but not relayed; start a worker with the role relay in WORKER_ROLES',
    ]);
    await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, 'worker-2 roles=relay');
    await untilReady('ok');
  });

  it('is degraded if processes of different versions have run together for more than ten minutes', async () => {
    const minutesAgo = (minutes: number): number => Date.now() - minutes * 60_000;
    const note = async (name: string, version: string, since: number): Promise<void> => {
      await gateway.app.get<BlobStore>(BLOB_STORE).writeMarker(name);
      const worker = formatProcessInstance({ name, version, since }, ['relay', 'poll', 'dispatch']);
      await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, worker);
    };
    await note('worker-1', 'test', minutesAgo(600));
    await note('worker-2', 'next', minutesAgo(9));
    await untilReady('ok');
    await note('worker-3', 'next', minutesAgo(11));
    // The gateway of this test started only now, so its own start does not count.
    expect((await untilReady('degraded')).details).toMatchObject([{ code: 'versions_mixed', count: 2 }]);
    const members = await eventually('the heartbeat of the gateway is stored', async () => {
      const noted = await gateway.redis.zrange('tidings:gateways', '0', '-1');
      return noted.length > 0 && noted;
    });
    expect(members.map((member) => parseProcessInstance(member).version)).toEqual(['test']);
  });

  it('is degraded if processes with different settings have run together for more than ten minutes; a build that does not announce its settings does not count', async () => {
    const note = async (name: string, settings: string | undefined, minutes: number): Promise<void> => {
      await gateway.app.get<BlobStore>(BLOB_STORE).writeMarker(name);
      const since = Date.now() - minutes * 60_000;
      const worker = formatProcessInstance({ name, version: 'test', since, settings }, WORKER_ROLES);
      await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, worker);
    };
    await note('worker-1', 'old-settings', 600);
    await note('worker-2', undefined, 500);
    const ofGateway = digestSettings(gateway.app.get(ENVIRONMENT));
    await note('worker-3', ofGateway, 9);
    await untilReady('ok');
    await note('worker-4', ofGateway, 11);
    expect((await untilReady('degraded')).details).toMatchObject([
      { code: 'settings_mixed', remedy: expect.stringContaining('UPSTREAM_API_KEY') },
    ]);
    const [member = ''] = await eventually('the heartbeat of the gateway is stored', async () => {
      const noted = await gateway.redis.zrange('tidings:gateways', '0', '-1');
      return noted.length > 0 && noted;
    });
    expect(parseProcessInstance(member).settings).toBe(ofGateway);
  });

  it('is degraded after the contact list could not be read for one minute', async () => {
    await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, 'worker-1');
    const list = 'tidings:{default}:contact-list';
    await gateway.redis.hset(
      list,
      'listFault',
      'upstream answered 404',
      'listFaultSince',
      Date.now() - 1_000,
    );
    await untilReady('ok');
    await gateway.redis.hset(list, 'listFaultSince', Date.now() - 61_000);
    expect((await untilReady('degraded')).reasons).toEqual([
      expect.stringMatching(/^the contact list of 1 account cannot be read; .*\/v1/),
    ]);
    await gateway.redis.hdel(list, 'listFault', 'listFaultSince');
    await untilReady('ok');
  });

  it('is degraded after five or more polls of messages have failed over one minute without a success, unless polling is off or another reason explains the failures', async () => {
    await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, 'worker-1');
    const failedPolls = (secondsAgo: number, lastSecondsAgo: number, failures: number): Promise<unknown> => {
      const [failedSince = 0, failedAt = 0] = [secondsAgo, lastSecondsAgo].map(
        (ago) => Date.now() - ago * 1_000,
      );
      return gateway.redis.hset('tidings:{default}:polls:facts', { failedSince, failedAt, failures });
    };
    await failedPolls(62, 1, 5);
    expect((await untilReady('degraded')).reasons).toEqual([
      expect.stringMatching(/^the messages of 1 account cannot be read; .*API key may read messages/),
    ]);
    const { readiness } = (await (await gateway.fetch('/v1/status')).json()) as Record<string, object>;
    const accounts = [
      { account: 'default', code: 'messages_unreadable', since: expect.any(String) as unknown },
    ];
    expect(readiness).toMatchObject({ accounts });

    const codes = async (polling = true): Promise<string[]> =>
      (await accountReasons(gateway.redis, 'tidings', { id: 'default', polling }, Date.now())).map(
        ({ code }) => code,
      );
    expect(await codes(false)).toEqual([]);
    await gateway.redis.hset('tidings:{default}:upstream', { unavailableSince: Date.now(), request: '' });
    expect(await codes()).toEqual(['upstream_down']);
    await gateway.redis.hset('tidings:{default}:upstream', 'request', 'messages');
    expect(await codes()).toEqual(['upstream_down', 'messages_unreadable']);
    await gateway.redis.del('tidings:{default}:upstream');
    const list = { listFault: 'upstream answered 404', listFaultSince: 1_000 };
    await gateway.redis.hset('tidings:{default}:contact-list', list);
    expect(await codes()).toEqual(['contact_list_unreadable']);
    await gateway.redis.del('tidings:{default}:contact-list');
    for (const [secondsAgo, lastSecondsAgo, failures] of [
      [59, 0, 100],
      [600, 0, 4],
      // An outage began less than a minute after the first failure.
      [600, 541, 100],
      // The account is no longer polled.
      [3_600, 901, 100],
    ] as const) {
      await failedPolls(secondsAgo, lastSecondsAgo, failures);
      expect(await codes()).toEqual([]);
    }
  });

  it('is degraded while suspiciously many contacts are missing, until the deletions are confirmed', async () => {
    await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, 'worker-1');
    const list = 'tidings:{default}:contact-list';
    await gateway.redis.hset(list, 'suspectSince', 1_000);
    expect((await untilReady('degraded')).details).toMatchObject([
      {
        code: 'contacts_vanished',
        count: 1,
        remedy: expect.stringContaining('confirm-deletions') as unknown,
      },
    ]);
    await gateway.redis.hset(list, 'believedAt', 2_000);
    await untilReady('ok');
    await gateway.redis.hdel(list, 'suspectSince', 'believedAt');
  });

  it('is degraded while suspiciously many messages of a contact are missing, until the deletions are confirmed', async () => {
    await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, 'worker-1');
    await gateway.redis.hset('tidings:{default}:suspects', { con_1: 3_000, con_2: 1_000 });
    const list = 'tidings:{default}:contact-list';
    await gateway.redis.hset(list, 'believedAt', 2_000);
    expect((await untilReady('degraded')).details).toMatchObject([
      { code: 'messages_vanished', remedy: expect.stringContaining('confirm-deletions') },
    ]);
    await gateway.redis.hset(list, 'believedAt', 4_000);
    await untilReady('ok');
  });

  it('reads a bounded number of the contacts whose messages are missing', async () => {
    const since = Date.now();
    const contacts = Array.from({ length: 20_000 }, (_, n) => [`con_${n}`, since]).flat();
    await gateway.redis.hset('tidings:{default}:suspects', ...contacts);
    const bytesSent = async (): Promise<number> =>
      Number(/total_net_output_bytes:(\d+)/.exec(await gateway.redis.info('stats'))?.[1]);
    const before = await bytesSent();
    const account = { id: 'default', polling: true };
    expect(await accountReasons(gateway.redis, 'tidings', account, since)).toMatchObject([
      { code: 'messages_vanished', since: new Date(since).toISOString() },
    ]);
    expect((await bytesSent()) - before).toBeLessThan(200_000);
  });

  it.each([
    ['an unreadable contact list', { listFault: 'upstream answered 404', listFaultSince: '1000' }],
    ['vanished contacts', { suspectSince: '1000' }],
  ])('ignores %s in an account without polling, except while sends of the account wait', async (_, fault) => {
    await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, 'worker-1');
    const made = json({ id: 'quiet', baseUrl: 'http://upstream.invalid/v1', apiKey: 'key-of-theirs' });
    expect((await gateway.fetch('/v1/accounts', made)).status).toBe(201);
    await gateway.redis.hset('tidings:{quiet}:contact-list', fault);
    await untilReady('degraded');
    const unpolled = { ...json({ polling: false }), method: 'PATCH' };
    expect((await gateway.fetch('/v1/accounts/quiet', unpolled)).status).toBe(200);
    await untilReady('ok');
    // A look-up of a send needs the contact list.
    await gateway.redis.zadd('tidings:{quiet}:lanes:due', Date.now(), '+14155550123');
    await untilReady('degraded');
  });

  it('is degraded while Redis has no append-only file', async () => {
    await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, 'worker-1');
    await untilReady('ok');
    await gateway.redis.config('SET', 'appendonly', 'no');
    expect((await untilReady('degraded')).reasons).toEqual([expect.stringMatching(/appendonly yes/)]);
    await gateway.redis.config('SET', 'appendonly', 'yes');
  });

  it('is shown with reason codes and counts at /health/ready; only GET /v1/status names the affected accounts', async () => {
    await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, 'worker-1');
    for (const account of ['company-a', 'company-b']) {
      const made = json({ id: account, baseUrl: 'http://upstream.invalid/v1', apiKey: 'key-of-theirs' });
      expect((await gateway.fetch('/v1/accounts', made)).status).toBe(201);
      const outage = { unavailableSince: '1893456000000', kind: 'refused', reason: 'upstream answered 401' };
      await gateway.redis.hset(`tidings:{${account}}:upstream`, outage);
    }
    const open = await untilReady('degraded');
    expect(open.details).toEqual([
      { code: 'upstream_refused', count: 2, remedy: expect.stringContaining('UPSTREAM_API_KEY') },
    ]);
    expect(JSON.stringify(open)).not.toMatch(/company|default|2030/);
    const { readiness } = (await (await gateway.fetch('/v1/status')).json()) as Record<string, object>;
    const expected = {
      code: 'upstream_refused',
      since: '2030-01-01T00:00:00.000Z',
      reason: 'upstream answered 401',
    };
    expect(readiness).toMatchObject({
      ...{ status: 'degraded', reasons: open.reasons, details: open.details },
      accounts: ['company-a', 'company-b'].map((account) => ({ account, ...expected })),
    });
    // An admin of another account does not see these problems or their number.
    const other = await (await gateway.fetch('/v1/status', { key: OTHER_KEY })).json();
    expect(other).toMatchObject({ readiness: { status: 'ok', reasons: [], details: [], accounts: [] } });
  });

  it('reveals neither the address of Redis nor a file path to a caller without an API key', async () => {
    const environment = { BLOB_STORE: 'file:/dev/null/blobs' };
    await using broken = await startGateway(environment);
    const degraded = await (await broken.fetch('/health/ready', { key: null })).text();
    expect(degraded).toContain('blob_store_unusable');
    expect(degraded).not.toContain('/dev/null');
    redis.server.kill('SIGKILL');
    await redis.server.exited;
    expect(JSON.stringify(await untilReady('unavailable'))).not.toMatch(/127\.0\.0\.1|ECONN/);
    await redis.server.restart();
    await untilReady('degraded');
  });

  it('is degraded while relay workers do not use the same blob store as the gateway', async () => {
    const worker = createProcessInstance('test', Date.now());
    const note = (roles: ('relay' | 'poll' | 'dispatch')[], { name } = worker): Promise<unknown> =>
      gateway.redis.zadd(
        'tidings:workers',
        Date.now() + 60_000,
        formatProcessInstance({ ...worker, name }, roles),
      );
    await note(['poll', 'dispatch'], { ...worker, name: 'needs-no-files' });
    await gateway.redis.zadd('tidings:workers', Date.now() + 60_000, 'earlier-build roles=relay');
    await untilReady('ok');
    await note(['relay']);
    expect((await untilReady('degraded')).details).toMatchObject([
      { code: 'blob_store_not_shared', count: 1, remedy: expect.stringContaining('BLOB_STORE') },
    ]);
    await gateway.app.get<BlobStore>(BLOB_STORE).writeMarker(worker.name);
    await untilReady('ok');
  });

  it('is degraded while the blob store is unusable: sends with a file are rejected, text sends are stored', async () => {
    const environment = { BLOB_STORE: 'file:/dev/null/blobs' };
    await using broken = await startGateway(environment);
    const health = await broken.fetch('/health/ready', { key: null });
    expect(health.status).toBe(200);
    expect(await health.json()).toMatchObject({
      status: 'degraded',
      reasons: expect.arrayContaining([
        expect.stringContaining('sends with a file are rejected, because the blob store cannot be used'),
      ]),
    });
    const form = new FormData();
    form.append('phoneNumber', '+14155550123');
    form.append('file', new Blob(['x']), 'x');
    const upload = await broken.fetch('/v1/messages/send', { method: 'POST', body: form });
    expect(await problemOf(upload)).toMatchObject({ status: 503, code: 'unavailable' });
    const text = await broken.fetch(
      '/v1/messages/send',
      json({ phoneNumber: '+14155550123', message: 'Hello' }),
    );
    expect(text.status).toBe(200);
  });

  it('is degraded after an upload for which the blob store had no space, although its checks succeed', async () => {
    await using full = await startGateway();
    const codes = async (): Promise<string[]> => (await ready(full)).details.map(({ code }) => code);
    expect(await codes()).not.toContain('blob_store_unusable');
    const cause = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    const put = jest
      .spyOn(FileBlobStore.prototype, 'put')
      .mockRejectedValue(new BlobStoreUnavailableError(cause.message, { cause }));
    try {
      const form = new FormData();
      form.append('phoneNumber', '+14155550123');
      form.append('file', new Blob(['x']), 'x');
      const upload = await full.fetch('/v1/messages/send', { method: 'POST', body: form });
      expect(await problemOf(upload)).toMatchObject({ status: 503, code: 'unavailable' });
    } finally {
      put.mockRestore();
    }
    expect(await codes()).toContain('blob_store_unusable');
  });

  it('has the status "unavailable" when the gateway begins to stop', async () => {
    await using own = await startGateway();
    own.stopping.abort();
    expect(await ready(own)).toMatchObject({ code: 503, status: 'unavailable' });
  });
});

describe('A Redis server', () => {
  beforeEach(start);
  afterEach(stop);

  /** Checks that reads and an upload fail with 503 while Redis is unavailable, each within two seconds. */
  async function expectUnavailable(): Promise<void> {
    const requests = ['/v1/events', '/v1/events?after=now', '/v1/events/evt_1'];
    const began = performance.now();
    for (const response of await Promise.all(requests.map((path) => gateway.fetch(path)))) {
      expect(response.headers.get('retry-after')).toBe('2');
      expect(await problemOf(response)).toMatchObject({ status: 503, code: 'unavailable' });
    }
    expect(performance.now() - began).toBeLessThan(2_000);
    expect((await untilReady('unavailable')).code).toBe(503);
    const form = new FormData();
    form.append('file', new Blob(['x']), 'x');
    const uploadBegan = performance.now();
    const upload = await gateway.fetch('/v1/messages/send', { method: 'POST', body: form });
    expect(await problemOf(upload)).toMatchObject({ status: 503, code: 'unavailable' });
    expect(performance.now() - uploadBegan).toBeLessThan(2_000);
    expect(await gateway.blobs()).toEqual([]);
  }

  it('that hangs or is down causes 503 unavailable within two seconds, for uploads too; the gateway later recovers without a restart', async () => {
    redis.server.kill('SIGSTOP');
    const began = performance.now();
    const response = await gateway.fetch('/v1/events');
    expect(await problemOf(response)).toMatchObject({ status: 503, code: 'unavailable' });
    expect(performance.now() - began).toBeLessThan(2_000);
    await expectUnavailable();
    redis.server.kill('SIGCONT');
    await untilReady('degraded');

    redis.server.kill('SIGKILL');
    await redis.server.exited;
    await expectUnavailable();
    await redis.server.restart();
    await untilReady('degraded');
    expect((await gateway.fetch('/v1/events')).status).toBe(200);
  });

  it('that refuses writes is reported with the error code in its answer, and with the remedy', async () => {
    await gateway.redis.config('SET', 'min-replicas-to-write', '1');
    const { reasons, details } = await untilReady('unavailable');
    expect(reasons).toEqual([expect.stringContaining('NOREPLICAS')]);
    expect(details).toMatchObject([
      { code: 'redis_unwritable', remedy: expect.stringContaining('min-replicas-to-write') },
    ]);
    await gateway.redis.config('SET', 'min-replicas-to-write', '0');
  });

  it('whose password was changed is reported with the error code in its answer, and with the remedy', async () => {
    const url = new URL(redis.url);
    const { password } = url;
    await gateway.redis.config('SET', 'requirepass', 'changed');
    await gateway.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no');
    const { details } = await eventually('the answer of Redis is reported', async () => {
      const now = await ready();
      return now.reasons[0]?.includes('WRONGPASS') === true && now;
    });
    expect(details).toMatchObject([
      { code: 'redis_unwritable', remedy: 'correct the user and the password in REDIS_URL' },
    ]);
    url.password = 'changed';
    const admin = new Redis(url.href);
    await admin.config('SET', 'requirepass', password);
    admin.disconnect();
    await untilReady('degraded');
  });

  it('whose memory is full causes 503 unavailable', async () => {
    await gateway.redis.config('SET', 'maxmemory', '1');
    expect((await untilReady('unavailable')).code).toBe(503);
    const log = new RedisEventLog(gateway.redis, 'tidings');
    await expect(log.append('default', [])).rejects.toThrow(/OOM/);
    const response = await gateway.fetch('/v1/events');
    expect(await problemOf(response)).toMatchObject({ status: 503, code: 'unavailable' });
    await gateway.redis.config('SET', 'maxmemory', '0');
  });
});
