import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const RECIPIENT = '+14155550123';

interface SendView {
  id: string;
  status: string;
  messageId: string | null;
  contactId: string | null;
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

/** The first five minutes of a new user. Each step depends on the steps before it. */
describe('all features end to end, with real processes and a real Redis', () => {
  let sendId: string;
  let contactId: string;

  it('a webhook is created, and its secret is returned', async () => {
    const made = await product.json<{ id: string; secret: string }>('POST', '/v1/webhooks', {
      url: receiver.url,
    });
    expect(made.id).toMatch(/^whk_/);
    expect(made.secret).toMatch(/^whsec_/);
    receiver.secret = made.secret;
  });

  it('a send is stored, relayed once and delivered', async () => {
    const accepted = await product.json<{ status: string; id: string }>('POST', '/v1/messages/send', {
      phoneNumber: RECIPIENT,
      message: 'Hello from the tour',
    });
    expect(accepted.status).toBe('queued');
    sendId = accepted.id;
    const send = await eventually('the send is delivered', async () => {
      const seen = await product.json<SendView>('GET', `/v1/sends/${sendId}`);
      return seen.status === 'delivered' && seen;
    });
    expect(send.messageId).not.toBeNull();
    contactId = send.contactId ?? '';
    expect(await product.texts()).toEqual(['Hello from the tour']);
  });

  it('the webhook gets message.sent and message.delivered with the id of the send', async () => {
    const [sent] = await eventually(
      'message.sent',
      () => receiver.eventsOfType('message.sent').length > 0 && receiver.events,
    );
    const delivered = await eventually(
      'message.delivered',
      () => receiver.eventsOfType('message.delivered')[0],
    );
    expect(receiver.eventsOfType('message.sent')[0]?.data.sendId).toBe(sendId);
    expect(delivered.data).toMatchObject({
      sendId,
      changes: { 'status.delivered': { from: false, to: true } },
    });
    expect(sent).toBeDefined();
  });

  it('the webhook gets the event of a reply within five seconds', async () => {
    const typedAt = performance.now();
    await product.simulate('typing', { contactId, message: 'Hello back 👋🏽' });
    const received = await eventually(
      'message.received',
      () => receiver.eventsOfType('message.received')[0],
      5_000,
    );
    expect(performance.now() - typedAt).toBeLessThan(5_000);
    expect(received.data).toMatchObject({
      contactId,
      message: { message: 'Hello back 👋🏽', direction: 'inbound' },
    });
  });

  it('every webhook signature is valid', () => {
    expect(receiver.invalidRequests).toEqual([]);
  });

  it('every message event of the event log was delivered, the sequences of the events have no gaps, and contacts and messages can be read', async () => {
    const { events } = await product.json<{
      events: { id: string; type: string; contactId?: string; sequence: number }[];
    }>('GET', '/v1/events?limit=1000');
    const delivered = new Set(receiver.events.map(({ id }) => id));
    // Events from before the webhook existed are not delivered to it.
    expect(
      events.filter(({ type }) => type.startsWith('message.')).every(({ id }) => delivered.has(id)),
    ).toBe(true);
    const sequences = events.filter((event) => event.contactId === contactId).map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.map((_, i) => i + 1));
    const contacts = await product.json<{ contacts: { id: string }[] }>('GET', '/v1/contacts');
    expect(contacts.contacts.map(({ id }) => id)).toContain(contactId);
    const messages = await product.json<{ messages: { message: string }[] }>(
      'GET',
      `/v1/contacts/${contactId}/messages`,
    );
    expect(messages.messages.map(({ message }) => message).sort()).toEqual([
      'Hello back 👋🏽',
      'Hello from the tour',
    ]);
  });

  it('the events of a send and of its message are found by their ids, and the deliveries of an event show which webhooks got the event', async () => {
    const { messageId } = await product.json<SendView>('GET', `/v1/sends/${sendId}`);
    const typesOf = async (query: string): Promise<string[]> => {
      const path = `/v1/events?${query}`;
      return (await product.json<{ events: { type: string }[] }>('GET', path)).events.map(({ type }) => type);
    };
    expect(await typesOf(`messageId=${String(messageId)}`)).toEqual(['message.sent', 'message.delivered']);
    expect((await typesOf(`sendId=${sendId}`)).sort()).toEqual([
      ...['message.delivered', 'message.sent', 'send.accepted', 'send.sent'],
    ]);
    const eventId = receiver.eventsOfType('message.sent')[0]?.id ?? '';
    const { deliveries } = await product.json<{ deliveries: { status: string; webhookId: string }[] }>(
      'GET',
      `/v1/deliveries?eventId=${eventId}`,
    );
    expect(deliveries).toMatchObject([{ eventId, status: 'succeeded', attempts: [{ statusCode: 204 }] }]);
  });

  it('an event is delivered on request to a webhook whose filter excludes the event, and is delivered again on a second request', async () => {
    const eventId = receiver.eventsOfType('message.sent')[0]?.id ?? '';
    await using second = await WebhookReceiver.start(product.api);
    const request = { url: second.url, eventTypes: ['account.suspect'] };
    const webhook = await product.json<{ id: string; secret: string }>('POST', '/v1/webhooks', request);
    second.secret = webhook.secret;
    const path = `/v1/webhooks/${webhook.id}/deliveries`;
    for (const count of [1, 2]) {
      expect(await product.json('POST', path, { eventId })).toMatchObject({ eventId, webhookId: webhook.id });
      await eventually('the delivery succeeds', async () => {
        const page = await product.json<{ deliveries: { attempts: unknown[] }[] }>(
          'GET',
          `${path}?status=succeeded&eventId=${eventId}`,
        );
        return page.deliveries[0]?.attempts.length === count;
      });
    }
    expect(second.events.map(({ id }) => id)).toEqual([eventId, eventId]);
    expect(second.invalidRequests).toEqual([]);
    await product.call('DELETE', `/v1/webhooks/${webhook.id}`);
  });

  it('a file is relayed completely in a multipart request', async () => {
    const form = new FormData();
    form.append('phoneNumber', RECIPIENT);
    form.append('message', 'A picture');
    form.append('file', new Blob([Buffer.alloc(300_000, 7)], { type: 'image/png' }), 'picture.png');
    const { id } = await product.json<{ id: string }>('POST', '/v1/messages/send', form);
    await eventually('the picture is delivered', async () => {
      const seen = await product.json<SendView>('GET', `/v1/sends/${id}`);
      return seen.status === 'delivered';
    });
    const { entries } = await product.simulate<{
      entries: { message: string; parts: { size?: number }[] }[];
    }>('ledger', {
      kind: 'send.accepted',
    });
    expect(entries.at(-1)?.parts.map(({ size }) => size)).toContain(300_000);
  });

  it('after a restart of all processes, sends, webhooks and events are still there, and no event is delivered twice', async () => {
    await eventually(
      'the last events arrived',
      () => receiver.eventsOfType('message.delivered').length === 2,
    );
    const before = await product.json<{ events: { id: string }[] }>('GET', '/v1/events?limit=1000');
    expect(await product.gateway.stop()).toBe(0);
    expect(await product.worker.stop()).toBe(0);
    expect(await product.simulator.stop()).toBe(0);
    await product.redis.server.restart();
    await product.startSimulator();
    await Promise.all([product.startGateway(), product.startWorker()]);

    const send = await product.json<SendView>('GET', `/v1/sends/${sendId}`);
    expect(send.status).toBe('delivered');
    const { webhooks } = await product.json<{ webhooks: { url: string }[] }>('GET', '/v1/webhooks');
    expect(webhooks.map(({ url }) => url)).toEqual([receiver.url]);

    // A new reply proves that the feed works again; only then does the absence of duplicates mean anything.
    await product.simulate('typing', { contactId, message: 'Still there?' });
    await eventually(
      'the reply after the restart',
      () => receiver.eventsOfType('message.received').length === 2,
    );
    const after = await product.json<{ events: { id: string }[] }>('GET', '/v1/events?limit=1000');
    expect(after.events.slice(0, before.events.length)).toEqual(before.events);
    expect(after.events).toHaveLength(before.events.length + 1);
    expect(receiver.duplicateIds()).toEqual([]);
    expect(receiver.invalidRequests).toEqual([]);
  });

  it('a deleted webhook gets no more events, while another webhook does', async () => {
    await using other = await WebhookReceiver.start(product.api);
    const { webhooks } = await product.json<{ webhooks: { id: string }[] }>('GET', '/v1/webhooks');
    other.secret = (
      await product.json<{ secret: string }>('POST', '/v1/webhooks', { url: other.url })
    ).secret;
    for (const { id } of webhooks)
      expect((await product.call('DELETE', `/v1/webhooks/${id}`)).status).toBe(204);
    const count = receiver.events.length;
    await product.simulate('typing', { contactId, message: 'Only one hears this' });
    await eventually(
      'the other webhook gets the event',
      () => other.eventsOfType('message.received').length === 1,
    );
    expect(receiver.events).toHaveLength(count);
  });
});
