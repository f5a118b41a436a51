import { expect, it } from '@jest/globals';
import { Receiver } from '../contract/webhooks/receiver.js';
import { ACCOUNT, WebhookHarness } from '../contract/webhooks/webhook-harness.js';
import { withTestRedis } from '../support/redis-server.js';
import { usedMemory } from '../support/used-memory.js';

const EVENTS = 100_000;
const ENDPOINTS = 20;
const MAX_GROWTH = 1.3;
const BATCH_SIZE = 500;
/** Length of a message text, in characters. An event then has about 1 KB. */
const TEXT = 700;
const CONTACTS = 100;
/** First delays of the product's retry schedule, in seconds. */
const SCHEDULE = [5, 15, 60, 300];

it(`${EVENTS} events with ${ENDPOINTS} webhooks that always fail need at most ${MAX_GROWTH} times the Redis memory of the same events without webhooks`, async () => {
  const alone = await memoryGrowth(0);
  const withDead = await memoryGrowth(ENDPOINTS);
  const bytes = `${Math.round(alone / EVENTS)} bytes an event alone, ${Math.round(withDead / EVENTS)} with them`;
  process.stdout.write(`Dead webhooks: ${bytes}: ${(withDead / alone).toFixed(3)} times\n`);
  expect(withDead / alone).toBeLessThanOrEqual(MAX_GROWTH);
}, 1_200_000);

/**
 * Returns the growth of Redis in bytes after all events were dispatched to this number of endpoints. Half of
 * the endpoints refuse connections, the others return 500.
 */
function memoryGrowth(endpoints: number): Promise<number> {
  return withTestRedis(async ({ url }) => {
    const before = await usedMemory(url);
    const harness = await WebhookHarness.open(url);
    const failing = await Receiver.start(() => ({ status: 500 }));
    try {
      for (let n = 0; n < endpoints; n += 1) {
        const target = n % 2 === 0 ? 'http://127.0.0.1:9/' : failing.url;
        await harness.endpoints.create(ACCOUNT, { url: target });
      }
      if (endpoints > 0) harness.startRunner(SCHEDULE);
      await recordAndDispatch(harness, failing);
      await report(harness);
    } finally {
      await harness.close();
      await failing.stop();
    }
    return (await usedMemory(url)) - before;
  });
}

async function recordAndDispatch(harness: WebhookHarness, failing: Receiver): Promise<void> {
  const reader = harness.reader();
  for (let made = 0; made < EVENTS; made += BATCH_SIZE) {
    const events = Array.from({ length: BATCH_SIZE }, (_, n) => eventOf(made + n));
    await harness.log.append(ACCOUNT, events);
    const reading = await reader.read(BATCH_SIZE);
    if (reading.kind !== 'events') throw new Error('Could not read the recorded events.');
    await harness.dispatcher.dispatch(ACCOUNT, reading.events);
    await reader.acknowledge(reading.events);
    // Free what this process keeps in memory.
    failing.received.length = 0;
    harness.lines.length = 0;
    harness.jobs.hints.length = 0;
  }
}

function eventOf(n: number): Parameters<WebhookHarness['log']['append']>[1][number] {
  const contactId = `contact-${n % CONTACTS}`;
  const message = {
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    ...{ from: '+15550100001', to: '+15550100002', status: { sent: true, delivered: false, read: false } },
    message: `${n} `.padEnd(TEXT, 'What is said here does not matter. '),
  };
  return {
    ...{ type: 'message.received', contactId, subject: `message:${n}`, revision: 1 },
    data: { contactId, message },
  };
}

async function report(harness: WebhookHarness): Promise<void> {
  const pending: number[] = [];
  for (const { id } of await harness.endpointStore.list(ACCOUNT)) {
    const key = `${harness.prefix}:{${ACCOUNT}}:endpoint:${id}:deliveries:pending`;
    pending.push(await harness.redis.zcard(key));
  }
  if (pending.length === 0) return;
  process.stdout.write(`Dead webhooks: ${Math.min(...pending)} to ${Math.max(...pending)} pending at each\n`);
}
