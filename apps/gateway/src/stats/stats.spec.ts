import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { API_KEY_SCOPES } from '#accounts';
import { minuteNumberAt, createZeroCounts, RedisStatsStore, type StatsOfLastHour } from '#metrics';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { EMPTY_KEY, OTHER_KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { makeKey, makeToken } from '../fixtures/tokens.js';

type Stats = StatsOfLastHour & { account: string; requests: { budgetPerMinute: number } };

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

async function stats(options: { key?: string; token?: string } = {}): Promise<Stats> {
  const reply = await gateway.fetch('/v1/stats', options);
  expect(reply.status).toBe(200);
  return (await reply.json()) as Stats;
}

describe('GET /v1/stats', () => {
  it('shows the counts and the budget of the account, and nothing of another account', async () => {
    const store = new RedisStatsStore(gateway.redis, 'tidings');
    const minute = minuteNumberAt((await store.read('default')).now) - 1;
    const counts = { ...createZeroCounts(), sendsCreated: 3, requestsUsed: 7, requestsThrottled: 2 };
    await store.add('default', new Map([[minute, counts]]));
    const shown = await stats();
    expect(shown.account).toBe('default');
    const at = shown.minutes.indexOf(new Date(minute * 60_000).toISOString());
    expect(at).toBeGreaterThanOrEqual(57);
    expect(shown.sends.created[at]).toBe(3);
    expect([shown.requests.used[at], shown.requests.throttled[at], shown.requests.failed[at]]).toEqual([
      ...[7, 2, 0],
    ]);
    expect(shown.requests.budgetPerMinute).toBe(600);
    const other = await stats({ key: OTHER_KEY });
    expect(other.account).toBe('other');
    expect(other.sends.created).toEqual(Array(60).fill(0));
  });

  it('shows the current backlog as the value of the current minute, and null for a minute without data', async () => {
    const { backlog } = await stats();
    expect([backlog.sends.at(-1), backlog.deliveries.at(-1)]).toEqual([0, 0]);
    expect(backlog.sends[0]).toBeNull();
  });

  it.each(API_KEY_SCOPES)('is permitted with an API key that has only the scope %s', async (scope) => {
    const { key } = await makeKey(gateway, { scopes: [scope] });
    expect((await stats({ key })).account).toBe('default');
  });

  it('is denied with an API key without scopes and with a token that is restricted to contacts, but permitted with an unrestricted token', async () => {
    expect((await problemOf(await gateway.fetch('/v1/stats', { key: EMPTY_KEY }))).status).toBe(403);
    const { token } = await makeToken(gateway, { scopes: ['events:read'] });
    expect((await stats({ token })).account).toBe('default');
    const restricted = await makeToken(gateway, { contactIds: ['c'] });
    const reply = await gateway.fetch('/v1/stats', { token: restricted.token });
    expect((await problemOf(reply)).detail).toContain('restricted to contacts');
  });
});
