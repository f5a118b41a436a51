import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { RedisEventConsumer } from '#events';
import type { Attempt, DeliveryStatus } from '#webhooks';
import { ACCOUNT, WebhookHarness } from '../contract/webhooks/webhook-harness.js';
import { startTestRedis, type TestRedis } from '../support/redis-server.js';
import { usedMemory } from '../support/used-memory.js';

const ENDPOINTS = 20;
const EVENTS_A_ROUND = 500;
/** Numbers of deliveries at the two measurements. The first is twice the retained number. */
const FEW = 20_000;
const MANY = 200_000;
const KEPT = { maxAgeMs: 3_600_000, maxCount: 10_000 };
const EVENTS_KEPT = { maxAgeMs: 3_600_000, maxCount: 1_000 };
const WAITING = 300;
const UNDISPATCHED = 1_200;
const MAX_GROWTH = 1.1;
const PAGE = 100;

const FAILURE: Attempt = { at: '', durationMs: 3, statusCode: 500, reply: 'x'.repeat(1_024), error: null };
const SUCCESS: Attempt = { at: '', durationMs: 3, statusCode: 200, reply: 'ok', error: null };

let server: TestRedis;
let harness: WebhookHarness;

beforeAll(async () => {
  server = await startTestRedis();
  harness = await WebhookHarness.open(server.url);
  harness.jobs.lost = true;
});
afterAll(async () => {
  await harness.close();
  await server.dispose();
});

it('retention limits the growth of Redis memory to 10 % while the number of deliveries grows from 20,000 to 200,000, and never removes pending deliveries or undispatched events', async () => {
  const busy: string[] = [];
  for (let n = 0; n < ENDPOINTS; n++) busy.push(await subscribe('message.*'));
  const waiting = await subscribe('send.*');
  const consumer = harness.reader();

  const sent = await harness.record(WAITING, { type: 'send.accepted', contactId: '', subject: 'send:1' });
  await dispatchAll(consumer);
  const rounds = async (deliveries: number): Promise<void> => {
    for (let made = 0; made < deliveries; made += EVENTS_A_ROUND * ENDPOINTS) {
      await harness.record(EVENTS_A_ROUND);
      await dispatchAll(consumer);
      for (const id of busy) await settleAll(id);
      await trim();
    }
  };
  await rounds(FEW);
  const few = await usedMemory(server.url);
  await rounds(MANY - FEW);
  const many = await usedMemory(server.url);
  process.stdout.write(`Redis' memory: ${few} bytes, then ${many}: ${(many / few).toFixed(3)} times\n`);
  expect(many / few).toBeLessThanOrEqual(MAX_GROWTH);

  expect(await count(waiting, 'pending')).toBe(WAITING);
  const kept: number[] = [];
  for (const id of busy) kept.push(await count(id));
  expect(kept.reduce((sum, one) => sum + one)).toBe(KEPT.maxCount);
  expect(await harness.redis.keys(`${harness.prefix}:*:delivery:*`)).toHaveLength(KEPT.maxCount + WAITING);

  // More events than retention keeps, none of them dispatched.
  const undispatched = await harness.record(UNDISPATCHED);
  await trim();
  const { events } = await harness.log.read(ACCOUNT, undefined, 10_000);
  expect(events.slice(-UNDISPATCHED).map(({ id }) => id)).toEqual(undispatched.map(({ id }) => id));
  expect(await harness.log.find(ACCOUNT, sent[0]?.id ?? '')).toBeUndefined();
}, 1_200_000);

async function subscribe(pattern: string): Promise<string> {
  const request = { url: 'http://127.0.0.1:9/', eventTypes: [pattern] };
  return (await harness.endpoints.create(ACCOUNT, request)).endpoint.id;
}

async function dispatchAll(consumer: RedisEventConsumer): Promise<void> {
  for (;;) {
    const reading = await consumer.read(EVENTS_A_ROUND);
    if (reading.kind !== 'events') return;
    await harness.dispatcher.dispatch(ACCOUNT, reading.events);
    await consumer.acknowledge(reading.events);
  }
}

/**
 * Settles all due deliveries of an endpoint. Every third delivery fails once and then succeeds. Every seventh
 * fails permanently.
 */
async function settleAll(endpointId: string): Promise<void> {
  for (let n = 0; ;) {
    const claimed = await harness.deliveries.claim(ACCOUNT, endpointId, {
      defaultConcurrency: 1_000,
      maxDeliveries: 1_000,
      leaseMs: 600_000,
    });
    if (claimed.kind === 'ended' || claimed.deliveries.length === 0) return;
    await Promise.all(
      claimed.deliveries.map((delivery) => {
        n++;
        const { attempts } = delivery;
        const settle = harness.deliveries.settle.bind(harness.deliveries, ACCOUNT, delivery);
        if (attempts === 0 && n % 3 === 0) return settle(FAILURE, { status: 'pending', waitMs: 0 });
        if (attempts === 0 && n % 7 === 0) return settle(FAILURE, { status: 'failed', reason: 'x' });
        return settle(SUCCESS, { status: 'succeeded' });
      }),
    );
  }
}

async function trim(): Promise<void> {
  while ((await harness.deliveries.trim(ACCOUNT, KEPT)) > 0);
  while ((await harness.log.trim(ACCOUNT, EVENTS_KEPT)) > 0);
}

/** Counts the stored deliveries of an endpoint, page by page like an API caller. */
async function count(endpointId: string, status?: DeliveryStatus): Promise<number> {
  const query = { limit: PAGE, ...(status === undefined ? {} : { status }) };
  let found = 0;
  for (let before: number | undefined; ;) {
    const page = await harness.deliveries.list(ACCOUNT, endpointId, {
      ...query,
      ...(before === undefined ? {} : { before }),
    });
    found += page.deliveries.length;
    if (page.next === undefined) return found;
    before = page.next;
  }
}
