import { NO_ROW_UPDATE } from '#conversations';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RedisEventLog } from '#events';
import { RedisFeedStore, RedisVolatileFieldStore } from '#feed';
import { SEND_STATUSES } from '#relay';
import { RedisUpstreamHealth } from '#relay';
import { RedisRequestBudget } from '#upstream';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { EMPTY_KEY, json, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { makeKey } from '../fixtures/tokens.js';

let server: TestRedis;
let gateway: TestGateway;

beforeAll(async () => {
  server = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: server.url });
});
afterAll(async () => {
  await gateway.dispose();
  await server.dispose();
});

const status = async (): Promise<Record<string, Record<string, unknown>>> =>
  (await (await gateway.fetch('/v1/status')).json()) as never;

/**
 * Stores a contact list.
 * @param suspectSince since when the list lacks so many contacts that an outage is likely, in milliseconds since 1970
 */
async function listContacts(ids: readonly string[], suspectSince?: number): Promise<void> {
  const store = new RedisFeedStore(gateway.redis, 'tidings');
  const contact = (id: string): object => ({
    ...{ id, listed: { fingerprint: '0011223344556677', deleted: false }, raw: '{}', numbers: [] },
    emitAfter: 0,
  });
  const { redisRun, version } = await store.contactListSnapshot('default');
  const listedAt = Date.parse('2026-11-20T10:00:00.000Z');
  const isCommitted = await store.commitContacts('default', {
    ...{ version, redisRun, startedAt: listedAt, listedAt },
    ...{ skipped: 0, unreadable: { count: 0, at: 0, base: 0, rises: [] } },
    ...{ upstream: 'test', service: 'test', isReplaced: false },
    updates: ids.map(contact) as never,
    ...(suspectSince === undefined ? {} : { suspectSince }),
    events: [],
  });
  expect(isCommitted).toBe(true);
}

describe('the status of an account', () => {
  it('has zero counts, and null for values that are not known yet, before the first activity', async () => {
    expect(await status()).toEqual({
      account: 'default',
      conversations: { contacts: 0, rows: 0 },
      installedAt: null,
      readiness: {
        ...{ status: 'degraded', accounts: [] },
        reasons: [expect.stringContaining('no worker')],
        details: [{ code: 'no_worker', count: 1, remedy: expect.any(String) }],
      },
      upstream: { state: 'up', since: null, reason: null },
      sends: {
        counts: Object.fromEntries(SEND_STATUSES.map((each) => [each, 0])),
        lanes: { count: 0, due: 0, deepest: 0 },
        oldestQueuedMs: 0,
      },
      poller: {
        ...{ state: 'ok', suspectSince: null, contacts: 0, due: 0, lagMs: 0, sweepMs: 0 },
        ...{ listedAt: null, listFault: null, unreadable: 0, skipped: 0, unreadableContacts: 0 },
        ...{ volatileFields: [] },
        deep: { waiting: 0, lagMs: 0 },
        detectionDelay: { p50Ms: null, p95Ms: null, count: 0, estimated: 0, late: 0, ofLastSeconds: 3_600 },
        budget: {
          ...{ requestsPerSecond: 10, allowedPerSecond: 10, usedPerSecond: 0, forPollsPerSecond: 10 },
        },
        forecast: [5, 10, 20].map((requestsPerSecond) => ({ requestsPerSecond, p50Ms: null, p95Ms: null })),
        ...{ minIntervalMs: null, maxIntervalMs: null, longestIntervalMs: null },
      },
      deliveries: {
        counts: { pending: 0, succeeded: 0, failed: 0 },
        endpoints: { count: 0, disabled: 0, disabledByFailure: 0, due: 0 },
        failing: [],
        ...{ oldestDueMs: 0, oldestWaitingMs: 0, dispatchLagMs: 0 },
      },
    });
  });

  it('shows the reason and the start of an upstream outage, and the state "up" after the recovery', async () => {
    const health = new RedisUpstreamHealth(gateway.redis, 'tidings');
    await health.recordOutage('default', 'away', 'upstream answered 503');
    const outage = await health.outage('default');
    if (outage === undefined) throw new Error('The outage was not recorded.');
    expect(Math.abs(outage.since - Date.now())).toBeLessThan(60_000);
    expect((await status())['upstream']).toEqual({
      ...{ state: 'down', reason: 'upstream answered 503' },
      since: new Date(outage.since).toISOString(),
    });
    await health.recordRecovery('default', outage);
    expect((await status())['upstream']).toEqual({ state: 'up', since: null, reason: null });
  });

  it('shows how many contacts exist and are due for polling, and the state "suspect" until deletions are confirmed', async () => {
    await listContacts(['a', 'b'], 1_000);
    const { installedAt, poller } = await status();
    expect(new Date(installedAt as never).getFullYear()).toBeGreaterThan(2_000);
    expect(poller).toMatchObject({ state: 'suspect', suspectSince: '1970-01-01T00:00:01.000Z' });
    expect(poller).toMatchObject({ contacts: 2, due: 2, listedAt: '2026-11-20T10:00:00.000Z' });
    expect(poller?.['lagMs']).toBeGreaterThanOrEqual(0);
    // Two requests at ten requests per second.
    expect(poller?.['sweepMs']).toBe(200);
    await gateway.fetch('/v1/accounts/default/confirm-deletions', { method: 'POST' });
    expect((await status())['poller']).toMatchObject({ state: 'ok', suspectSince: null });
  });

  it('shows the detection delay, and forecasts of the delay with half, the current and twice the request budget', async () => {
    const store = new RedisFeedStore(gateway.redis, 'tidings');
    await listContacts(['a', 'b']);
    const state = await store.contactState('default', 'a');
    if (state === undefined) throw new Error('The contact was not stored.');
    const { version, redisRun, expediteRequests, pollState, extension, now } = state;
    await store.commitPoll('default', 'a', {
      ...{
        version,
        redisRun,
        expediteRequests,
        pollState,
        deletesSnapshots: false,
        known: new Map(),
        events: [],
        numbers: [],
        row: NO_ROW_UPDATE,
      },
      ...{ extension, baseline: 'unchanged', deep: 'unchanged', bucket: 1, dueInMs: 1_000, unreadable: 0 },
      report: {
        startedAt: now,
        arrivals: [{ estimatedAt: now - 4_000 }],
        interval: { min: 2_000, max: 300_000 },
        skipped: 1,
      },
    });
    const { poller } = await status();
    expect(poller).toMatchObject({
      detectionDelay: { count: 1, estimated: 1, late: 0 },
      ...{ minIntervalMs: 2_000, maxIntervalMs: 300_000, skipped: 1 },
    });
    const { p50Ms, p95Ms } = poller?.['detectionDelay'] as Record<string, number>;
    expect(p50Ms).toBeGreaterThan(4_000 / 1.073);
    expect(p95Ms).toBe(p50Ms);
    const forecast = poller?.['forecast'] as { requestsPerSecond: number; p95Ms: number }[];
    expect(forecast.map(({ requestsPerSecond }) => requestsPerSecond)).toEqual([5, 10, 20]);
    for (const { p95Ms: expected } of forecast) expect(expected).toBeGreaterThan(0);
  });

  it('shows the longest poll interval, which exceeds the configured maximum if the request budget is too small', async () => {
    expect((await status())['poller']?.['longestIntervalMs']).toBeLessThanOrEqual(300_000);
    // At ten requests a second, 5,000 contacts take 500 s.
    const due = 'tidings:{default}:polls:due';
    const ids = Array.from({ length: 5_000 }, (_, n) => `many-${n}`);
    await gateway.redis.zadd(due, ...ids.flatMap((id) => ['+inf', id]));
    const { longestIntervalMs, maxIntervalMs } = (await status())['poller'] ?? {};
    await gateway.redis.zrem(due, ...ids);
    expect(maxIntervalMs).toBe(300_000);
    expect(longestIntervalMs).toBeGreaterThanOrEqual(500_000);
  });

  it('shows the reason and start of a contact list failure', async () => {
    const list = 'tidings:{default}:contact-list';
    await gateway.redis.hset(list, { listFault: 'the reply is too large', listFaultSince: 1_000 });
    expect((await status())['poller']).toMatchObject({
      listFault: { reason: 'the reply is too large', since: '1970-01-01T00:00:01.000Z' },
    });
    await gateway.redis.hdel(list, 'listFault', 'listFaultSince');
  });

  it('without polling shows no fault of the contact list and no vanished contacts, except while sends wait', async () => {
    const made = json({
      id: 'quiet',
      baseUrl: 'http://upstream.invalid/v1',
      apiKey: 'key-of-theirs',
      polling: false,
    });
    expect((await gateway.fetch('/v1/accounts', made)).status).toBe(201);
    const { key } = await makeKey(gateway, { account: 'quiet', scopes: ['admin'] });
    const fault = { listFault: 'the reply is too large', listFaultSince: 1_000, suspectSince: 1_000 };
    await gateway.redis.hset('tidings:{quiet}:contact-list', fault);
    const poller = async (): Promise<unknown> =>
      ((await (await gateway.fetch('/v1/status', { key })).json()) as { poller: unknown }).poller;
    expect(await poller()).toMatchObject({ state: 'ok', suspectSince: null, listFault: null });
    await gateway.redis.zadd('tidings:{quiet}:lanes:due', Date.now(), '+14155550123');
    expect(await poller()).toMatchObject({ state: 'suspect', listFault: { reason: fault.listFault } });
  });

  it('shows how much of the request budget is used per second, and how much is left for polls', async () => {
    const budget = new RedisRequestBudget(gateway.redis, 'tidings');
    for (let sends = 0; sends < 5; sends += 1) await budget.acquire('default', 10, 'send', 1_000);
    const { usedPerSecond, forPollsPerSecond } = (await status())['poller']?.['budget'] as Record<
      string,
      number
    >;
    expect(usedPerSecond).toBeGreaterThan(0);
    expect(forPollsPerSecond).toBeCloseTo(10 - (usedPerSecond ?? NaN), 2);
  });

  it('lists the volatile fields, which change at nearly every read', async () => {
    const volatile = new RedisVolatileFieldStore(gateway.redis, 'tidings');
    await volatile.countMessageFields('default', { muted: ['attachments'], unmuted: [] });
    expect((await status())['poller']).toMatchObject({
      volatileFields: [{ of: 'message', field: 'attachments', contacts: 1 }],
    });
  });

  it('shows the number of webhooks, and how long events have been waiting for dispatch', async () => {
    const body = JSON.stringify({ url: 'https://example.com/', enabled: false });
    const headers = { 'content-type': 'application/json' };
    await gateway.fetch('/v1/webhooks', { method: 'POST', headers, body });
    await new RedisEventLog(gateway.redis, 'tidings').append('default', [
      { type: 'upstream.recovered', subject: 'upstream', revision: 1, data: {} },
    ]);
    const seen = await eventually('the event waits for dispatch', async () => {
      const { deliveries } = await status();
      return Number(deliveries?.['dispatchLagMs']) > 0 && deliveries;
    });
    expect(seen).toMatchObject({ endpoints: { count: 1, disabled: 1, due: 0 }, oldestDueMs: 0 });
  });

  it('requires an API key with the scope admin', async () => {
    expect((await gateway.fetch('/v1/status', { key: null })).status).toBe(401);
    const refused = await problemOf(await gateway.fetch('/v1/status', { key: EMPTY_KEY }));
    expect(refused).toMatchObject({ status: 403, detail: expect.stringContaining('admin') });
  });
});
