import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const RECIPIENT = '+14155550123';

interface Stats {
  account: string;
  minutes: string[];
  sends: Record<'created' | 'accepted' | 'sent' | 'failed', number[]>;
  events: Record<'total' | 'received', number[]>;
  deliveries: Record<'succeeded' | 'failedAttempts' | 'failed', number[]>;
  detectionDelayMs: Record<'mean' | 'max', (number | null)[]>;
  deliveryDelayMs: Record<'mean' | 'max', (number | null)[]>;
  requests: Record<'used' | 'throttled' | 'failed', number[]> & { budgetPerMinute: number };
  backlog: Record<'sends' | 'deliveries', (number | null)[]>;
}

let product: Product;
let receiver: WebhookReceiver;

beforeAll(async () => {
  product = await Product.start();
  receiver = await WebhookReceiver.start(product.api);
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await product[Symbol.asyncDispose]();
});

const stats = (): Promise<Stats> => product.json<Stats>('GET', '/v1/stats');

/** The sum of a series: the test may run across the end of a minute. */
const total = (series: readonly (number | null)[]): number =>
  series.reduce<number>((sum, value) => sum + (value ?? 0), 0);

describe('the statistics of an installation', () => {
  it('show the sends, events, deliveries, delays and requests of the last minutes', async () => {
    const { secret } = await product.json<{ secret: string }>('POST', '/v1/webhooks', { url: receiver.url });
    receiver.secret = secret;
    const { id } = await product.json<{ id: string }>('POST', '/v1/messages/send', {
      phoneNumber: RECIPIENT,
      message: 'Counted once',
    });
    await eventually('the send is delivered', async () => {
      const { status } = await product.json<{ status: string }>('GET', `/v1/sends/${id}`);
      return status === 'delivered';
    });
    await product.simulate('messages', { phoneNumber: RECIPIENT, text: 'Thanks' });
    await eventually(
      'all events are delivered',
      () =>
        receiver.eventsOfType('message.received').length === 1 &&
        receiver.eventsOfType('message.delivered').length === 1,
    );
    const shown = await eventually('the counts are written', async () => {
      const found = await stats();
      const count = receiver.events.length;
      const isWritten =
        total(found.deliveries.succeeded) === count &&
        total(found.events.total) === count &&
        total(found.sends.created) === 1;
      return isWritten && found;
    });
    expect(shown.account).toBe('default');
    expect(shown.minutes).toHaveLength(60);
    const { sends, events, deliveries, requests, backlog } = shown;
    expect([sends.accepted, sends.sent, sends.failed].map(total)).toEqual([1, 1, 0]);
    expect(total(events.received)).toBe(1);
    expect([total(deliveries.failedAttempts), total(deliveries.failed)]).toEqual([0, 0]);
    for (const { mean, max } of [shown.detectionDelayMs, shown.deliveryDelayMs]) {
      expect(total(max)).toBeGreaterThan(0);
      expect(total(max)).toBeGreaterThanOrEqual(total(mean));
      expect(mean[0]).toBeNull();
    }
    expect(total(requests.used)).toBeGreaterThan(5);
    expect(requests.budgetPerMinute).toBe(6_000);
    expect([backlog.sends.at(-1), backlog.deliveries.at(-1)]).toEqual([0, 0]);
  });

  it('show failed attempts of deliveries', async () => {
    const before = await stats();
    const { id } = await product.json<{ id: string }>('POST', '/v1/webhooks', {
      url: 'http://127.0.0.1:9/refused',
    });
    await product.json('POST', `/v1/webhooks/${id}/test`);
    await eventually('the failed attempts are shown', async () => {
      const { deliveries } = await stats();
      return total(deliveries.failedAttempts) > total(before.deliveries.failedAttempts);
    });
    await product.call('DELETE', `/v1/webhooks/${id}`);
  });

  it('include the counts that a process writes when it stops', async () => {
    const before = total((await stats()).sends.created);
    await product.json('POST', '/v1/messages/send', {
      phoneNumber: RECIPIENT,
      message: 'Right before the end',
    });
    await product.gateway.stop();
    await product.startGateway();
    expect(total((await stats()).sends.created)).toBe(before + 1);
  });
});
