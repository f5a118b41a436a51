import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { eventually } from '../../../../test/support/eventually.js';
import { metricsIn } from '../../../../test/support/metrics.js';
import { EMPTY_KEY, json, KEY, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

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

async function scrape(): Promise<ReturnType<typeof metricsIn>> {
  const reply = await gateway.fetch('/metrics', { key: null });
  expect(reply.status).toBe(200);
  return metricsIn(await reply.text());
}

describe('GET /metrics', () => {
  it('answers in the text format of Prometheus, and forbids caching', async () => {
    const reply = await gateway.fetch('/metrics', { key: null });
    expect(reply.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(reply.headers.get('cache-control')).toBe('no-store');
  });

  it('rejects a caller behind a proxy without an admin key, and the error names METRICS_TOKEN', async () => {
    const asked = (key: string | null): Promise<Response> =>
      gateway.fetch('/metrics', { key, headers: { 'x-forwarded-for': '203.0.113.9' } });
    const refused = await asked(null);
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({
      code: 'unauthenticated',
      detail: expect.stringContaining('METRICS_TOKEN'),
    });
    expect((await asked(EMPTY_KEY)).status).toBe(401);
    expect((await asked(KEY)).status).toBe(200);
  });

  it('counts requests by route pattern; unknown URLs count as "unmatched" and unusual methods as "other"', async () => {
    const before = await scrape();
    await gateway.fetch('/v1/sends/snd_1');
    await gateway.fetch('/v1/sends/snd_2');
    await gateway.fetch('/nowhere');
    await gateway.fetch('/elsewhere', { method: 'PROPFIND' });
    const after = await scrape();
    // A series begins with its first request.
    const added = (labels: Record<string, string>): number =>
      after.value('tidings_http_requests_total', labels) -
      (before.value('tidings_http_requests_total', labels) || 0);
    expect(added({ method: 'GET', route: '/v1/sends/:id', status: '404' })).toBe(2);
    expect(added({ method: 'GET', route: 'unmatched', status: '404' })).toBe(1);
    expect(added({ method: 'other', route: 'unmatched', status: '404' })).toBe(1);
  });

  it('shows the state of workers, accounts, sends and Redis, and the reason why the installation is degraded', async () => {
    const metrics = await scrape();
    expect(metrics.value('tidings_redis_up')).toBe(1);
    expect(metrics.value('tidings_degraded', { reason: 'no_worker' })).toBe(1);
    expect(metrics.value('tidings_degraded', { reason: 'redis_unwritable' })).toBe(0);
    expect(metrics.value('tidings_workers', { role: 'relay' })).toBe(0);
    expect(metrics.value('tidings_accounts')).toBe(1);
    expect(metrics.value('tidings_upstream_up', { account: 'default' })).toBe(1);
    expect(metrics.value('tidings_sends', { account: 'default', status: 'queued' })).toBe(0);
    expect(metrics.value('tidings_redis_persistent')).toBe(1);
    expect(metrics.value('tidings_redis_memory_used_bytes')).toBeGreaterThan(100_000);
    expect(metrics.value('tidings_redis_commands_total', { command: 'evalsha' })).toBeGreaterThan(0);
  });

  it('shows no fault of the contact list and no vanished contacts for an account without polling', async () => {
    const made = json({
      id: 'quiet',
      baseUrl: 'http://upstream.invalid/v1',
      apiKey: 'key-of-theirs',
      polling: false,
    });
    expect((await gateway.fetch('/v1/accounts', made)).status).toBe(201);
    const fault = { listFault: 'the reply is too large', listFaultSince: 1_000, suspectSince: 1_000 };
    for (const account of ['default', 'quiet'])
      await gateway.redis.hset(`tidings:{${account}}:contact-list`, fault);
    const metrics = await eventually('the faults are shown', async () => {
      const found = await scrape();
      return found.value('tidings_account_suspect', { account: 'default' }) === 1 && found;
    });
    expect(metrics.value('tidings_contact_list_readable', { account: 'default' })).toBe(0);
    expect(metrics.value('tidings_account_suspect', { account: 'quiet' })).toBe(0);
    expect(metrics.value('tidings_contact_list_readable', { account: 'quiet' })).toBe(1);
  });

  it('still answers while Redis hangs, and shows that Redis is unavailable', async () => {
    redis.server.kill('SIGSTOP');
    try {
      const metrics = await eventually('the loss is shown', async () => {
        const found = await scrape();
        return found.value('tidings_redis_up') === 0 && found;
      });
      expect(metrics.value('tidings_degraded', { reason: 'redis_unwritable' })).toBe(1);
      expect(metrics.value('tidings_workers', { role: 'relay' })).toBeNaN();
      expect(metrics.value('tidings_http_requests_total')).toBeGreaterThan(0);
    } finally {
      redis.server.kill('SIGCONT');
    }
    await eventually(
      'the state is shown again',
      async () => (await scrape()).value('tidings_redis_up') === 1,
    );
  });

  it('still shows Redis as available, and the last state, while the gateway stops', async () => {
    gateway.stopping.abort();
    const metrics = await eventually('the stop is shown', async () => {
      const found = await scrape();
      return found.value('tidings_degraded', { reason: 'stopping' }) === 1 && found;
    });
    expect(metrics.value('tidings_redis_up')).toBe(1);
    expect(metrics.value('tidings_accounts')).toBeGreaterThan(0);
  });
});
