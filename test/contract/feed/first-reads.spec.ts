import { describe, expect, it } from '@jest/globals';
import { ABSENCE_MS, ContactListPoll } from '#feed';
import { A } from './house.js';
import { DAY_MS, NUMBER, received, WithHouse } from './with-house.js';

const here = new WithHouse();

/** Polls contacts in batches, as a worker does. */
async function pollAll(contactIds: readonly string[]): Promise<void> {
  for (let at = 0; at < contactIds.length; at += 16) {
    await Promise.all(contactIds.slice(at, at + 16).map((id) => here.house.polls.poll(A, id)));
  }
}

describe('the first read', () => {
  it('emits none of 500 old messages', async () => {
    const contactId = here.house.contact(NUMBER);
    here.createOldMessages(contactId, 500);
    await here.house.sweep();
    expect(await here.house.types()).toEqual([]);
    expect((await here.house.store.contactState(A, contactId))?.stored).toBe(500);
  });

  it('of 1,000 contacts emits the replies that arrive meanwhile, and nothing else', async () => {
    const { house } = here;
    house.control('contacts', { count: 1_000 });
    await house.list.poll(A);
    const due = await house.takeDue();
    expect(due).toHaveLength(1_000);
    for (const id of due) here.createOldMessages(id, 2);
    await pollAll(due.slice(0, 500));
    const replies = [due[0], due[700], due[999]].flatMap((contactId = '') => house.messages(contactId));
    await pollAll(due.slice(500));
    await house.polls.poll(A, due[0] ?? '');
    expect(await here.messageEvents()).toEqual(received(replies));
  });

  it.each([
    ['five minutes ago emits the messages since then, though upstream was away', 300_000, 1],
    ['900 days ago emits at most the messages of the last day', 900 * DAY_MS, 2],
  ])('of an account added %s', async (_, addedAgoMs, expectedCount) => {
    const { house } = here;
    const contactId = house.contact(NUMBER);
    house.messages(contactId, { timestamp: Date.now() - 2 * DAY_MS });
    const [yesterday = ''] = house.messages(contactId, { timestamp: Date.now() - DAY_MS / 2 });
    const [since = ''] = house.messages(contactId, { timestamp: Date.now() - 200_000 });
    const addedAt = (): Promise<number> => Promise.resolve(Date.now() - addedAgoMs);
    await new ContactListPoll(house.store, house.source, ABSENCE_MS, addedAt).poll(A);
    await house.sweep();
    expect(await here.messageEvents()).toEqual(received([since, yesterday].slice(0, expectedCount)));
  });

  it('emits no older message after the loss of the stored contact list', async () => {
    const { house } = here;
    const contactId = house.contact(NUMBER);
    await house.sweep();
    await house.redis.del(`${house.prefix}:{${A}}:contacts`);
    await house.redis.del(`${house.prefix}:{${A}}:contact:${contactId}`);
    house.messages(house.contact('+15551234568'), { timestamp: Date.now() - 200_000 });
    const addedAt = (): Promise<number> => Promise.resolve(Date.now() - 300_000);
    await new ContactListPoll(house.store, house.source, ABSENCE_MS, addedAt).poll(A);
    await house.sweep();
    expect(await here.messageEvents()).toEqual([]);
  });

  it('of an old contact that appears late emits the last day, but not years of history', async () => {
    const { house } = here;
    await house.sweep();
    const contactId = house.contact(NUMBER);
    const years = { count: 60, timestamp: Date.now() - 900 * DAY_MS, intervalMs: DAY_MS };
    house.messages(contactId, years);
    const [fresh] = house.messages(contactId, { text: 'fresh', timestamp: Date.now() - DAY_MS / 2 });
    await house.sweep();
    await house.sweep();
    expect(await house.types()).toEqual(['contact.created', 'message.received']);
    expect(await here.messageEvents()).toEqual(received([fresh ?? '']));
  });

  it('of a new contact emits the contact and its messages once', async () => {
    const { house } = here;
    await house.sweep();
    const ids = house.messages(house.contact(NUMBER), { count: 2 });
    await house.sweep();
    await house.sweep();
    expect((await house.types())[0]).toBe('contact.created');
    expect(await here.messageEvents()).toEqual(received(ids));
  });

  it.each([-600_000, 600_000])(
    'uses upstream’s clock: with that clock %d ms off, old messages stay silent and new ones are emitted',
    async (clockSkewMs) => {
      const { house } = here;
      house.control('settings', { clockSkewMs });
      const upstreamNow = Date.now() + clockSkewMs;
      const contactId = house.contact(NUMBER);
      house.messages(contactId, { text: 'old', timestamp: upstreamNow - 120_000 });
      const [recent] = house.messages(contactId, { text: 'recent', timestamp: upstreamNow - 30_000 });
      await house.sweep();
      const [fresh] = house.messages(contactId, { text: 'fresh' });
      await house.sweep();
      expect(await here.messageEvents()).toEqual(received([recent ?? '', fresh ?? '']));
    },
  );

  it.each([-600_000, 600_000])(
    'does not use Redis’ clock: with that clock %d ms off, old messages stay silent and new ones are emitted',
    async (aheadMs) => {
      const { house } = here;
      house.store.aheadMs = aheadMs;
      const contactId = house.contact(NUMBER);
      house.messages(contactId, { text: 'old', timestamp: Date.now() - 120_000 });
      const [recent] = house.messages(contactId, { text: 'recent', timestamp: Date.now() - 30_000 });
      await house.sweep();
      house.store.aheadMs = -aheadMs;
      const [fresh] = house.messages(contactId, { text: 'fresh' });
      await house.sweep();
      expect(await here.messageEvents()).toEqual(received([recent ?? '', fresh ?? '']));
    },
  );

  it('after Redis was emptied emits no old message', async () => {
    const { house } = here;
    house.control('contacts', { count: 30 });
    await house.list.poll(A);
    const ids = [...(await house.store.knownContacts(A)).contacts.keys()];
    for (const id of ids) here.createOldMessages(id, 12);
    await house.sweep();
    await house.redis.flushall();
    await house.sweep();
    await house.sweep();
    expect(await house.types()).toEqual([]);
    const [fresh] = house.messages(ids[0] ?? '');
    await house.sweep();
    expect(await here.messageEvents()).toEqual(received([fresh ?? '']));
  });
});
