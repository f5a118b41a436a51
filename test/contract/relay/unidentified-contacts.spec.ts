import { beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, accept, find, relayUntil, memory, posts } = relay;

/**
 * Accepts and posts a send whose recipient becomes a contact that no poll reads, then takes Redis back to the time before
 * the POST.
 */
async function lostPost(): Promise<{ id: string; contactId: string }> {
  const contactId = relay.harness.createContact(NUMBER);
  const id = await accept();
  const before = await memory();
  await relayUntil(id, 'accepted');
  await before.restore(relay.redis);
  return { id, contactId };
}

async function untilIncomplete(id: string, lane = runner({ confirmMs: 300 })): Promise<void> {
  await eventually('a look-up was incomplete', async () => {
    await lane.run(ACCOUNT, NUMBER);
    const { lookups = [] } = await find(id);
    return lookups.some(({ outcome }) => outcome === 'incomplete');
  });
}

describe('a posted send that Redis lost, while contacts show no phone number', () => {
  beforeEach(() => {
    relay.harness.control('settings', { contactPhoneField: null });
  });

  it('is found in a contact whose messages were never read', async () => {
    const { id } = await lostPost();
    await relayUntil(id, 'sent', runner({ confirmMs: 300 }));
    expect(posts()).toBe(1);
  });

  it('is found in a contact that had no messages when it was last read', async () => {
    relay.harness.createContact(NUMBER);
    await relay.harness.sweep();
    const id = await accept();
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.restore(relay.redis);
    await relayUntil(id, 'sent', runner({ confirmMs: 300 }));
    expect(posts()).toBe(1);
  });

  it('is not posted again while the messages of such a contact cannot be read', async () => {
    const { id, contactId } = await lostPost();
    const fault = { kind: 'status', status: 500 };
    relay.harness.control('faults', { match: { method: 'GET', contactId }, fault, times: 'always' });
    await untilIncomplete(id);
    expect(posts()).toBe(1);
    relay.harness.control('faults/clear');
    await relayUntil(id, 'sent', runner({ confirmMs: 300 }));
    expect(posts()).toBe(1);
  });

  it('is not posted again while upstream shows neither contacts nor messages', async () => {
    const { id } = await lostPost();
    await relay.harness.list.poll(ACCOUNT);
    relay.harness.control('settings', { outage: true });
    await untilIncomplete(id);
    expect(posts()).toBe(1);
    relay.harness.control('settings', { outage: false });
    await relayUntil(id, 'sent', runner({ confirmMs: 300 }));
    expect(posts()).toBe(1);
  });

  it('is found in the last of more such contacts than one look-up reads', async () => {
    relay.harness.control('contacts', { count: 50 });
    const { id } = await lostPost();
    await relayUntil(id, 'sent', runner({ confirmMs: 300 }));
    expect(posts()).toBe(1);
  });
});

describe('a send that was not posted before Redis lost its last writes', () => {
  it('is posted although contacts show neither a phone number nor a message', async () => {
    relay.harness.control('settings', { contactPhoneField: null });
    relay.harness.control('contacts', { count: 5 });
    const id = await accept();
    await (await memory()).restore(relay.redis);
    await relayUntil(id, 'accepted', runner({ confirmMs: 300 }));
    expect(posts()).toBe(1);
  });

  it('is posted although a listed contact without a phone number is answered with 404', async () => {
    relay.harness.control('settings', { contactPhoneField: null });
    const contactId = relay.harness.createContact('+15550001111');
    const fault = { kind: 'status', status: 404 };
    relay.harness.control('faults', { match: { method: 'GET', contactId }, fault, times: 'always' });
    const id = await accept();
    await (await memory()).restore(relay.redis);
    await relayUntil(id, 'accepted', runner({ confirmMs: 300 }));
    expect(posts()).toBe(1);
  });

  it('is posted without reads of contacts whose messages were read before', async () => {
    relay.harness.control('settings', { contactPhoneField: null });
    const other = relay.harness.createContact('+15550001111');
    relay.harness.createMessages(other, { count: 2 });
    await relay.harness.sweep();
    const id = await accept();
    await (await memory()).restore(relay.redis);
    const before = relay.harness.countRequests(/messages/);
    await relayUntil(id, 'accepted', runner({ confirmMs: 300 }));
    expect(relay.harness.countRequests(/GET .*messages/) - before).toBe(0);
  });
});
