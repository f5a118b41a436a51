import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { startTestCluster } from '../support/redis-cluster.js';
import type { RedisLayout } from '../support/redis-process.js';
import { startTestSentinel } from '../support/redis-sentinel.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const RECIPIENT = '+14155550123';
const PREFIX = 'another';

/** Sends a message, replies to it, and expects each event at a webhook exactly once. */
async function expectDeliveries(running: Product<RedisLayout>): Promise<void> {
  await using subscriber = await WebhookReceiver.start(running.api);
  const { secret } = await running.json<{ secret: string }>('POST', '/v1/webhooks', { url: subscriber.url });
  subscriber.secret = secret;

  const { id } = await running.json<{ id: string }>('POST', '/v1/messages/send', {
    phoneNumber: RECIPIENT,
    message: 'Hello',
  });
  const { contactId } = await eventually('the send is delivered', async () => {
    const send = await running.json<{ status: string; contactId: string }>('GET', `/v1/sends/${id}`);
    return send.status === 'delivered' && send;
  });
  await running.simulate('typing', { contactId, message: 'Hello back' });
  await eventually('the reply arrives', () => subscriber.eventsOfType('message.received').length === 1);

  const { events } = await running.json<{ events: { id: string; type: string }[] }>(
    'GET',
    '/v1/events?limit=1000',
  );
  await eventually('all events were delivered', () => subscriber.events.length === events.length);
  expect(new Set(subscriber.events.map((event) => event.id))).toEqual(
    new Set(events.map((event) => event.id)),
  );
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['send.accepted', 'message.sent', 'message.delivered', 'message.received']),
  );
  expect(subscriber.duplicateIds()).toEqual([]);
  expect(subscriber.invalidRequests).toEqual([]);
  const ready = await fetch(`http://127.0.0.1:${running.gateway.port}/health/ready`);
  expect(await ready.json()).toEqual({ status: 'ok', reasons: [], details: [] });
}

async function expectCleanStop({ gateway, worker }: Product<RedisLayout>): Promise<void> {
  expect(await Promise.all([gateway.stop(), worker.stop()])).toEqual([0, 0]);
}

describe('the product on a Redis master and its replica under three sentinels', () => {
  it("relays a send, receives the recipient's reply, and delivers each recorded event to the webhook exactly once", async () => {
    await using product = await Product.startOn<RedisLayout>(await startTestSentinel());
    await expectDeliveries(product);
    await expectCleanStop(product);
  });
});

/** The reply to a send request, and its duration. */
async function answerOf(
  running: Product<RedisLayout>,
): Promise<{ status: number; code?: string; ms: number }> {
  const began = performance.now();
  const response = await running.call('POST', '/v1/messages/send', { phoneNumber: RECIPIENT, message: 'Hi' });
  const { code } = (await response.json()) as { code?: string };
  return { status: response.status, ...(code === undefined ? {} : { code }), ms: performance.now() - began };
}

describe('the product on a Redis Cluster of three masters', () => {
  let cluster: Awaited<ReturnType<typeof startTestCluster>>;
  let running: Product<RedisLayout>;

  beforeAll(async () => {
    cluster = await startTestCluster();
    // After a restart of its master, a stored send is looked up for these times before it is relayed.
    running = await Product.startOn<RedisLayout>(cluster, {
      SEND_CONFIRM_MS: '3000',
      UPSTREAM_TIMEOUT_MS: '1000',
    });
  });
  afterAll(() => running[Symbol.asyncDispose]());

  it("relays a send, receives the recipient's reply, and delivers each recorded event to the webhook exactly once", async () => {
    await expectDeliveries(running);
  });

  // The restart comes last: soon after it, a cluster may be down for another moment.
  it.each(['SIGSTOP', 'SIGKILL'] as const)(
    'returns 503 for send requests within 2 s while the master with the data of the account is down (%s), and works again afterwards without a restart',
    async (signal) => {
      const relayed = (await running.texts()).length;
      const master = await cluster.masterOf('tidings:{default}:events');
      expect(await answerOf(running)).toMatchObject({ status: 200 });
      master.kill(signal);
      for (let i = 0; i < 5; i += 1) {
        const refused = await answerOf(running);
        expect(refused).toMatchObject({ status: 503, code: 'unavailable' });
        expect(refused.ms).toBeLessThan(2_000);
      }
      const ready = await fetch(`http://127.0.0.1:${running.gateway.port}/health/ready`);
      expect(ready.status).toBe(503);
      if (signal === 'SIGSTOP') master.kill('SIGCONT');
      else await master.restart();
      await eventually('sends are accepted again', async () => (await answerOf(running)).status === 200);
      await eventually(
        'the worker relays again',
        async () => (await running.texts()).length >= relayed + 2,
        30_000,
      );
    },
  );

  it('shuts down with exit status 0', async () => {
    await expectCleanStop(running);
  });
});

describe('the product on a Redis Cluster while the master that holds the job queue is unavailable', () => {
  it('stores a send, and relays it afterwards', async () => {
    const cluster = await startTestCluster();
    // With this prefix, the queue is on another master than the account and the rate limit of the API key.
    await using running = await Product.startOn<RedisLayout>(cluster, { REDIS_KEY_PREFIX: PREFIX });
    const queue = await cluster.masterOf(`{${PREFIX}:queue:relay}:meta`);
    const account = await cluster.masterOf(`${PREFIX}:{default}:events`);
    const counts = await cluster.masterOf(`${PREFIX}:rate:environment`);
    expect([account, counts]).not.toContain(queue);
    queue.kill('SIGSTOP');
    const accepted = await answerOf(running);
    queue.kill('SIGCONT');
    expect(accepted).toMatchObject({ status: 200 });
    expect(accepted.ms).toBeLessThan(2_000);
    await eventually('the worker relays the send', async () => (await running.texts()).length === 1, 30_000);
  });
});
