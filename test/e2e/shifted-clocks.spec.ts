import { expect, it } from '@jest/globals';
import { shiftedClock } from '../support/shifted-clock-environment.js';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const AHEAD_MS = 20 * 60_000;
const NUMBER = '+15551230001';

it('processes whose clocks are 20 minutes ahead create valid signatures, return correct timestamps, and report that their clocks are wrong', async () => {
  await using product = await Product.start(shiftedClock(AHEAD_MS));
  await using receiver = await WebhookReceiver.start(product.api);
  const { secret } = await product.json<{ secret: string }>('POST', '/v1/webhooks', { url: receiver.url });
  receiver.secret = secret;
  const began = Date.now();
  const send = { phoneNumber: NUMBER, message: 'Hi' };
  const { id } = await product.json<{ id: string }>('POST', '/v1/messages/send', send);
  await eventually('delivered', () => receiver.eventsOfType('send.sent').length === 1);
  expect(receiver.invalidRequests).toEqual([]);
  const sent = await product.json<Record<string, string>>('GET', `/v1/sends/${id}`);
  for (const time of [sent.createdAt, sent.updatedAt, ...receiver.events.map(({ timestamp }) => timestamp)]) {
    expect(Date.parse(time ?? '')).toBeGreaterThan(began - 5_000);
    expect(Date.parse(time ?? '')).toBeLessThan(Date.now() + 5_000);
  }
  const ready = await product.call('GET', '/health/ready');
  expect(await ready.json()).toMatchObject({
    status: 'degraded',
    reasons: [expect.stringMatching(/clock is 1200 s ahead/)],
  });
});
