import { expect, it } from '@jest/globals';
import { Receiver } from '../contract/webhooks/receiver.js';
import { ACCOUNT, WebhookHarness } from '../contract/webhooks/webhook-harness.js';
import { withTestRedis } from '../support/redis-server.js';
import { usedMemory } from '../support/used-memory.js';

const EVENTS = 100_000;
const ENDPOINTS = 20;
const MOST_GROWTH = 1.3;
const AT_ONCE = 500;
/** Characters of a message, of an event of some 1 KB. */
const TEXT = 700;
const CONTACTS = 100;
/** The first of the product's own waits, in seconds. */
const SCHEDULE = [5, 15, 60, 300];

it(`Redis grows by at most ${MOST_GROWTH} times what ${EVENTS} events alone take where ${ENDPOINTS} webhooks that want them are dead`, async () => {
  const alone = await grownBy(0);
  const withDead = await grownBy(ENDPOINTS);
  const bytes = `${Math.round(alone / EVENTS)} bytes an event alone, ${Math.round(withDead / EVENTS)} with them`;
  process.stdout.write(`Dead webhooks: ${bytes}: ${(withDead / alone).toFixed(3)} times\n`);
  expect(withDead / alone).toBeLessThanOrEqual(MOST_GROWTH);
}, 1_200_000);

/** What Redis grows by with the events, dispatched to so many webhooks. Every other refuses connections; the rest answer 500. */
function grownBy(endpoints: number): Promise<number> {
  return withTestRedis(async ({ url }) => {
    const before = await usedMemory(url);
    const harness = await WebhookHarness.open(url);
    const failing = await Receiver.start(() => ({ status: 500 }));
    try {
      for (let n = 0; n < endpoints; n += 1) {
        const target = n % 2 === 0 ? 'http://127.0.0.1:9/' : failing.url;
        await harness.endpoints.create(ACCOUNT, { url: target });
      }
      if (endpoints > 0) harness.pump(SCHEDULE);
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
  for (let made = 0; made < EVENTS; made += AT_ONCE) {
    const events = Array.from({ length: AT_ONCE }, (_, n) => eventOf(made + n));
    await harness.log.append(ACCOUNT, events);
    const reading = await reader.take(AT_ONCE);
    if (reading.kind !== 'events') throw new Error('What was recorded cannot be read.');
    await harness.dispatcher.dispatch(ACCOUNT, reading.events);
    await reader.acknowledge(reading.events);
    // What this process keeps for itself.
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
