import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { type AuditEntry, isAuditLogPosition, RedisAccountEraser, RedisAuditLog } from '#accounts';
import { closeRedis, newId, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { startTestCluster } from '../../support/redis-cluster.js';
import { startTestRedis } from '../../support/redis-server.js';

const DAY_MS = 86_400_000;
const CATEGORIES = ['admin', 'webhook', 'frequent'] as const;
const BOUNDS = { maxEntries: 5, retentionMs: 90 * DAY_MS };

describe.each([
  ['one Redis', startTestRedis],
  ['a Redis Cluster', startTestCluster],
])('the audit log (Redis layout: %s)', (_, start) => {
  let server: Awaited<ReturnType<typeof start>>;
  let redis: RedisClient;
  let prefix: string;
  let log: RedisAuditLog;
  let aheadMs: number;

  beforeAll(async () => {
    server = await start();
    redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
    await once(redis, 'ready');
  });
  afterAll(async () => {
    await closeRedis(redis);
    await server.dispose();
  });
  beforeEach(() => {
    prefix = newId('req');
    aheadMs = 0;
    log = new RedisAuditLog(redis, prefix, { now: () => Date.now() + aheadMs }, BOUNDS);
  });

  const entryOf = (subject: string): AuditEntry => ({
    ...{ id: newId('aud'), at: '2026-11-25T04:00:00.000Z', action: 'webhook.created', subject },
    ...{ account: 'sales', keyId: 'key_1', requestId: 'r', fields: [] },
  });
  const subjectsOf = (entries: readonly AuditEntry[]): (string | null)[] =>
    entries.map(({ subject }) => subject);
  const shown = async (account = 'sales'): Promise<(string | null)[]> =>
    subjectsOf((await log.read(account, 100)).entries);

  it('returns the entries of an account as they were stored, newest first, and none of another account', async () => {
    const entries = [
      entryOf('a'),
      { ...entryOf('b'), tokenId: 'tok_1' },
      { ...entryOf('c'), subjects: ['x'] },
    ];
    for (const entry of entries) await log.append('sales', entry, 'admin');
    await log.append('support', entryOf('other'), 'admin');
    expect(await log.read('sales', 100)).toEqual({ entries: entries.reverse(), next: undefined });
    expect(await shown('support')).toEqual(['other']);
    expect(await log.read('nobody', 100)).toEqual({ entries: [], next: undefined });
  });

  it('returns each entry on exactly one page, although three Redis streams are merged and an entry is added between two pages', async () => {
    const names = ['1', '2', '3', '4', '5', '6', '7', '8'];
    for (const [i, name] of names.entries())
      await log.append('sales', entryOf(name), CATEGORIES[i % 3] ?? 'admin');
    const seen: (string | null)[] = [];
    for (let before: string | undefined, begun = false; !begun || before !== undefined; begun = true) {
      const page = await log.read('sales', 3, before);
      expect(page.entries.length).toBeGreaterThan(0);
      seen.push(...subjectsOf(page.entries));
      expect(page.next === undefined || isAuditLogPosition(page.next)).toBe(true);
      before = page.next;
      if (!begun) await log.append('sales', entryOf('new'), 'admin');
    }
    expect(seen).toEqual(names.reverse());
  });

  it('lists entries in the order in which they were appended, even if the clock of Redis was ahead when an earlier entry was appended', async () => {
    const ahead = `${Date.now() + DAY_MS}-7`;
    await redis.xadd(`${prefix}:{sales}:audit`, ahead, 'entry', JSON.stringify(entryOf('ahead')));
    await log.append('sales', entryOf('later'), 'frequent');
    await log.append('sales', entryOf('last'), 'admin');
    expect(await shown()).toEqual(['last', 'later', 'ahead']);
  });

  it('has a maximum number of entries for each category, so that the entries of one category never displace those of another', async () => {
    await log.append('sales', entryOf('admin'), 'admin');
    for (const category of ['webhook', 'frequent'] as const)
      for (let i = 0; i < 12; i += 1) await log.append('sales', entryOf(`${category} ${i}`), category);
    const newest = [11, 10, 9, 8, 7];
    expect(await shown()).toEqual([
      ...newest.map((i) => `frequent ${i}`),
      ...newest.map((i) => `webhook ${i}`),
      'admin',
    ]);
    for (let i = 0; i < 7; i += 1) await log.append('sales', entryOf(`admin ${i}`), 'admin');
    expect(await redis.xlen(`${prefix}:{sales}:audit`)).toBe(BOUNDS.maxEntries);
  });

  it('also shows the entries about webhooks that an earlier build stored in the Redis stream of the category `admin`', async () => {
    await redis.xadd(`${prefix}:{sales}:audit`, '*', 'entry', JSON.stringify(entryOf('earlier')));
    await log.append('sales', entryOf('later'), 'webhook');
    expect(await shown()).toEqual(['later', 'earlier']);
  });

  it('neither shows nor keeps entries that are older than the retention period', async () => {
    const stream = `${prefix}:{sales}:audit`;
    await redis.xadd(stream, `${Date.now() - 91 * DAY_MS}-0`, 'entry', JSON.stringify(entryOf('old')));
    expect(await shown()).toEqual([]);
    await log.append('sales', entryOf('new'), 'admin');
    expect(await redis.xlen(stream)).toBe(1);
    aheadMs = 91 * DAY_MS;
    expect(await shown()).toEqual([]);
    expect(await redis.pttl(stream)).toBeGreaterThan(89 * DAY_MS);
  });

  it('is removed by the erasure of its account', async () => {
    for (const account of ['sales', 'support'])
      for (const category of CATEGORIES) await log.append(account, entryOf(account), category);
    await new RedisAccountEraser(redis, prefix).pass('sales', () => Promise.resolve(true));
    const nodes = redis instanceof Cluster ? redis.nodes('master') : [redis];
    const keys = (await Promise.all(nodes.map((node) => node.keys(`${prefix}:*`)))).flat();
    expect(keys.sort()).toEqual(
      ['', ':frequent', ':webhook'].map((stream) => `${prefix}:{support}:audit${stream}`),
    );
  });
});
