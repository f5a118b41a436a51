import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const CONTACTS = 20;
const MISSED = 1_000;
const TYPE = 'message.received';

let product: Product | undefined;
const receivers: WebhookReceiver[] = [];

afterEach(async () => {
  await product?.[Symbol.asyncDispose]();
  product = undefined;
  for (const receiver of receivers.splice(0)) await receiver[Symbol.asyncDispose]();
});

interface Subscriber {
  id: string;
  receiver: WebhookReceiver;
}

async function subscribe(running: Product): Promise<Subscriber> {
  const receiver = await WebhookReceiver.start(running.api);
  receivers.push(receiver);
  const request = { url: receiver.url, eventTypes: [TYPE] };
  const { id, secret } = await running.json<{ id: string; secret: string }>('POST', '/v1/webhooks', request);
  receiver.secret = secret;
  return { id, receiver };
}

async function loggedIds(running: Product): Promise<string[]> {
  const ids: string[] = [];
  let after = '';
  for (;;) {
    const page = await running.json<{ events: { id: string }[]; next: string; hasMore: boolean }>(
      'GET',
      `/v1/events?types=${TYPE}&limit=1000${after}`,
    );
    ids.push(...page.events.map(({ id }) => id));
    if (!page.hasMore) return ids;
    after = `&after=${page.next}`;
  }
}

describe('a webhook that was disabled while 1,000 events were recorded', () => {
  it('gets new events after the webhook is enabled; only a replay delivers the missed events, each of them once', async () => {
    product = await Product.start({ UPSTREAM_REQUESTS_PER_SECOND: '500' });
    const running = product;
    const { contacts } = await running.simulate<{ contacts: { id: string }[] }>('contacts', {
      count: CONTACTS,
    });
    expect(contacts).toHaveLength(CONTACTS);
    const away = await subscribe(running);
    const there = await subscribe(running);
    const say = async (count: number, message: string): Promise<void> => {
      for (const { id: contactId } of contacts) {
        await running.simulate('messages', { contactId, count: count / CONTACTS, text: message });
      }
    };
    const arrived = (what: string, { receiver }: Subscriber, count: number): Promise<unknown> =>
      eventually(what, () => receiver.events.length >= count, 60_000);

    const since = new Date(Date.now() - 3_600_000).toISOString();
    await say(CONTACTS, 'before');
    await arrived('the events before the disabling arrive', away, CONTACTS);
    await running.json('PATCH', `/v1/webhooks/${away.id}`, { enabled: false });
    await say(MISSED, 'missed {n}');
    await arrived('the other webhook has all events', there, CONTACTS + MISSED);
    expect(away.receiver.events).toHaveLength(CONTACTS);

    const early = await running.call('POST', `/v1/webhooks/${away.id}/replay`, { since, only: 'missed' });
    expect(early.status).toBe(409);
    await running.json('PATCH', `/v1/webhooks/${away.id}`, { enabled: true });
    await say(CONTACTS, 'after');
    await arrived('the events after the enabling arrive', away, 2 * CONTACTS);
    expect(away.receiver.events).toHaveLength(2 * CONTACTS);

    const replay = (): Promise<{ count: number }> =>
      running.json('POST', `/v1/webhooks/${away.id}/replay`, { since, only: 'missed' });
    const counted = { since, only: 'missed', dryRun: true };
    expect(await running.json('POST', `/v1/webhooks/${away.id}/replay`, counted)).toEqual({ count: MISSED });
    expect(await replay()).toEqual({ count: MISSED });
    // A second replay during the first finds no missed events.
    expect(await replay()).toEqual({ count: 0 });
    await arrived('all missed events arrive', away, 2 * CONTACTS + MISSED);
    await eventually('no delivery is pending', async () => {
      const path = `/v1/webhooks/${away.id}/deliveries?status=pending`;
      return (await running.json<{ deliveries: unknown[] }>('GET', path)).deliveries.length === 0;
    });
    const ids = await loggedIds(running);
    expect(ids).toHaveLength(2 * CONTACTS + MISSED);
    expect(away.receiver.duplicateIds()).toEqual([]);
    expect(away.receiver.events.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect(away.receiver.invalidRequests).toEqual([]);
    expect(there.receiver.duplicateIds()).toEqual([]);
  });
});
