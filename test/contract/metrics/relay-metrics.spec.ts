import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PromMetrics, RelayMetrics } from '#metrics';
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

it('The time in a status includes the transitions that keep the status, such as look-ups', async () => {
  let now = Date.now();
  const metrics = new PromMetrics('worker', 'test');
  const counter = { add: () => undefined, addDelay: () => undefined };
  const store = new RelayMetrics(metrics, counter).observeStore(
    new RedisRelayStore(redis, newId('req'), { now: () => now }),
  );
  const id = newId('snd');
  await store.insert(ACCOUNT, {
    id,
    createdAt: now,
    phoneNumber: '+15551234567',
    type: 'text',
    message: 'Hi',
  });
  const found = async (): Promise<SendRecord> => {
    const record = await store.find(ACCOUNT, id);
    if (record === undefined) throw new Error('the send was not found');
    return record;
  };
  const transitions = ['fenced', 'ambiguous', 'lookup_begun', 'recheck_passed', 'cancelled'] as const;
  for (const transition of transitions) {
    now += 2_000;
    const record = await found();
    // As some changes do, this one copies the whole state.
    await store.apply(ACCOUNT, record, { transition, state: record.state });
  }
  const scraped: Scrape = metricsIn((await metrics.expose()).text);
  const spent = (status: string): number => scraped.value('tidings_send_status_seconds_sum', { status });
  expect({ queued: spent('queued'), relaying: spent('relaying') }).toEqual({ queued: 4, relaying: 6 });
});
