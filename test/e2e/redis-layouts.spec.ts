import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { startTestCluster } from '../support/redis-cluster.js';
import type { RedisLayout } from '../support/redis-process.js';
import { startTestSentinel } from '../support/redis-sentinel.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const RECIPIENT = '+14155550123';

let product: Product<RedisLayout> | undefined;
let receiver: WebhookReceiver | undefined;

afterEach(async () => {
  await product?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
  product = undefined;
  receiver = undefined;
}, 60_000);

const LAYOUTS: [string, () => Promise<RedisLayout>][] = [
  ['a Redis Cluster of three masters', startTestCluster],
  ['a master and its replica under three sentinels', startTestSentinel],
];

describe('layouts of Redis', () => {
  it.each(LAYOUTS)(
    'on %s a send is delivered, a reply reaches the webhook, and the log has both',
    async (_, startLayout) => {
      product = await Product.startOn(await startLayout());
      receiver = await WebhookReceiver.start();
      const running = product;
      const subscriber = receiver;
      const { secret } = await running.json<{ secret: string }>('POST', '/v1/webhooks', {
        url: subscriber.url,
      });
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
      await eventually('the reply arrives', () => subscriber.ofType('message.received').length === 1);

      const { events } = await running.json<{ events: { id: string; type: string }[] }>(
        'GET',
        '/v1/events?limit=1000',
      );
      await eventually('all were delivered', () => subscriber.events.length === events.length);
      expect(new Set(subscriber.events.map((event) => event.id))).toEqual(
        new Set(events.map((event) => event.id)),
      );
      expect(events.map(({ type }) => type)).toEqual(
        expect.arrayContaining(['send.accepted', 'message.sent', 'message.delivered', 'message.received']),
      );
      expect(subscriber.doubled()).toEqual([]);
      expect(subscriber.forged).toEqual([]);
      const ready = await fetch(`http://127.0.0.1:${running.gateway.port}/health/ready`);
      expect(await ready.json()).toEqual({ status: 'ok', reasons: [] });
      expect(await Promise.all([running.gateway.stop(), running.worker.stop()])).toEqual([0, 0]);
    },
    60_000,
  );
});
