import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { PromMetrics, SendMetrics } from '#metrics';
import { closeRedis, newId, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { RedisRelayStore } from '#relay';
import type { SendRecord } from '../../../libs/relay/src/send/send-record.js';
import { metricsIn, type Scrape } from '../../support/metrics.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

const ACCOUNT = 'default';

let server: TestRedis;
let redis: RedisClient;

beforeAll(async () => {
  server = await startTestRedis();
  redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
  await once(redis, 'ready');
});
afterAll(async () => {
  await closeRedis(redis);
  await server.dispose();
});

let now: number;
let metrics: PromMetrics;
let store: RedisRelayStore;

beforeEach(() => {
  now = Date.now();
  metrics = new PromMetrics('worker', 'test');
  const counter = { add: () => undefined };
  store = new SendMetrics(metrics, counter).observeStore(
    new RedisRelayStore(redis, newId('req'), { now: () => now }),
  );
});

async function insert(more: { sendAt?: number } = {}): Promise<string> {
  const id = newId('snd');
  const text = { phoneNumber: '+15551234567', type: 'text', message: 'Hi' } as const;
  await store.insert(ACCOUNT, { id, createdAt: now, ...text, ...more });
  return id;
}

async function found(id: string): Promise<SendRecord> {
  const record = await store.find(ACCOUNT, id);
  if (record === undefined) throw new Error('the send was not found');
  return record;
}

const scrape = async (): Promise<Scrape> => metricsIn((await metrics.expose()).text);

it('The time in a status continues across transitions that keep the status, such as the start of a look-up', async () => {
  const id = await insert();
  const transitions = ['fenced', 'ambiguous', 'lookup_begun', 'recheck_passed', 'cancelled'] as const;
  for (const transition of transitions) {
    now += 2_000;
    const record = await found(id);
    // As some changes do, this one copies the whole state.
    await store.apply(ACCOUNT, record, { transition, state: record.state });
  }
  const scraped = await scrape();
  const spent = (status: string): number => scraped.value('tidings_send_status_seconds_sum', { status });
  expect({ queued: spent('queued'), relaying: spent('relaying') }).toEqual({ queued: 4, relaying: 6 });
});

it('Every send is counted once for each status that it reaches, including its first status', async () => {
  const id = await insert();
  const later = await insert({ sendAt: now - 1 });
  expect(await store.promoteScheduled(ACCOUNT, 10)).toHaveLength(1);
  for (const record of [await found(id), await found(later)])
    await store.apply(ACCOUNT, record, { transition: 'cancelled', state: record.state });
  const scraped = await scrape();
  const reached = (status: string): number => scraped.value('tidings_send_statuses_total', { status });
  expect({
    scheduled: reached('scheduled'),
    queued: reached('queued'),
    cancelled: reached('cancelled'),
  }).toEqual({
    scheduled: 1,
    queued: 2,
    cancelled: 2,
  });
});
