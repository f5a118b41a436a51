import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { A } from '../feed/house.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { rounds, accept, find, relayUntil, sendEvents } = relay;

describe('a sighting that does not come', () => {
  it('is asked for again, and told of once when the time is over; a later one still binds', async () => {
    relay.harness.control('settings', { sendVisibleDelayMs: 2_500 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    const confirming = rounds({ confirmMs: 1_200 });
    await eventually('told', async () => {
      await confirming.confirm(A);
      return (await sendEvents()).includes('send.unconfirmed');
    });
    expect((await find(id)).status).toBe('accepted');
    for (let i = 0; i < 5; i += 1) await confirming.confirm(A);
    await relay.harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    expect(await sendEvents()).toEqual(['send.accepted', 'send.unconfirmed', 'send.sent']);
  });

  it('hastens the poll of the contact, whose first send may be what made it one', async () => {
    const id = await accept();
    await relayUntil(id, 'accepted');
    // The recipient is not known yet: the list is wished for, once however many ask.
    expect([await relay.harness.store.takeListWish(A), await relay.harness.store.takeListWish(A)]).toEqual([
      true,
      false,
    ]);
    await relay.harness.list.poll(A);
    const [contactId] = (await relay.harness.store.knownContacts(A)).contacts.keys();
    expect(await relay.harness.recipient(NUMBER)).toBe(contactId);
    await eventually('due', async () => (await relay.harness.takeDue()).includes(contactId ?? ''));
    await relay.harness.polls.poll(A, contactId ?? '');
    expect((await find(id)).status).toBe('sent');
  });
});
