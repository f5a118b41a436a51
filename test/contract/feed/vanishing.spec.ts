import { beforeEach, describe, expect, it } from '@jest/globals';
import { ContactListPoll } from '#feed';
import { A } from './house.js';
import { DAY_MS, NUMBER, received, WithHouse } from './with-house.js';

const here = new WithHouse();
/** Poll of the contact list without a minimum time between the two reads of a deletion. */
let list: ContactListPoll;
beforeEach(() => {
  list = new ContactListPoll(here.house.store, here.house.source, 0);
});

async function lists(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await list.poll(A);
}
const typesOf = async (): Promise<string[]> => here.house.types();

describe('a missing message', () => {
  it.each(['newestFirst', 'oldestFirst'] as const)(
    'is emitted as deleted with its last form if the log has that form, else with its id: %s',
    async (order) => {
      const { house } = here;
      house.control('settings', { order });
      const { contactId, ids: old } = await here.createKnownContact(25);
      const [id = ''] = house.messages(contactId, { text: 'soon gone' });
      await house.sweep();
      house.control('messages/delete', { ids: [id, old[3]] });
      await here.readAllMinutesApart(contactId, 2);
      const deleted = (await house.told()).slice(1);
      expect(deleted.map(({ type }) => type)).toEqual(['message.deleted', 'message.deleted']);
      const forms = deleted.map(({ data }) => data['message']);
      expect(forms).toContainEqual({ id: old[3] });
      expect(forms).toContainEqual(expect.objectContaining({ id, message: 'soon gone' }));
      for (const { data } of deleted) expect(data['changes']).toEqual({ deleted: { from: false, to: true } });
      await here.readAll(contactId);
      expect(await typesOf()).toHaveLength(3);
    },
  );

  it.each(
    (['newestFirst', 'oldestFirst'] as const).flatMap((order) =>
      [0, 2, 4].map((index) => ({ order, index })),
    ),
  )('is noticed by the next head read if its page is not full: $order, message $index', async (given) => {
    const { house } = here;
    house.control('settings', { order: given.order });
    const { contactId, ids } = await here.createKnownContact(5);
    await house.polls.poll(A, contactId);
    expect((await house.store.contactState(A, contactId))?.memory.completeDueAt).toBeUndefined();
    house.control('messages/delete', { id: ids[given.index] });
    await house.polls.poll(A, contactId);
    expect((await house.store.contactState(A, contactId))?.memory.completeDueAt).toBeDefined();
  });

  it('is not deleted before two reads at least a minute apart lack it', async () => {
    const { contactId, ids } = await here.createKnownContact(25);
    here.house.control('messages/delete', { id: ids[20] });
    for (let reads = 0; reads < 4; reads += 1) await here.readAll(contactId);
    const state = await here.house.store.contactState(A, contactId);
    expect(await typesOf()).toEqual([]);
    expect(state?.memory.completeDueAt).toBeGreaterThan(state?.now ?? Infinity);
  });

  it('that returns before its deletion emits nothing; after its deletion, one update', async () => {
    const { house } = here;
    const { contactId, ids } = await here.createKnownContact(5);
    const [id = ''] = ids;
    house.control('messages/delete', { id });
    await here.readAll(contactId);
    house.control('messages/restore', { id });
    await here.readAll(contactId);
    expect(await typesOf()).toEqual([]);
    house.control('messages/delete', { id });
    await here.readAllMinutesApart(contactId, 2);
    house.control('messages/restore', { id });
    await here.readAll(contactId);
    await here.readAll(contactId);
    expect(await typesOf()).toEqual(['message.deleted', 'message.updated']);
    expect((await house.told())[1]?.data['changes']).toEqual({ deleted: { from: true, to: false } });
  });
});

describe('a missing contact', () => {
  it('that returns after its deletion is emitted as created; its known messages are not emitted again', async () => {
    const { house } = here;
    const contactId = house.contact(NUMBER, { name: 'Ann' });
    house.contact('+15551234568');
    here.createOldMessages(contactId, 5);
    await house.sweep();
    const [before] = house.messages(contactId);
    await house.sweep();
    house.control('contacts/delete', { contactId });
    await lists(3);
    expect(await typesOf()).toEqual(['message.received', 'contact.deleted']);
    expect((await house.told())[1]?.data['contact']).toMatchObject({ id: contactId, name: 'Ann' });
    house.control('contacts/restore', { contactId });
    await house.sweep();
    await house.sweep();
    expect(await typesOf()).toEqual(['message.received', 'contact.deleted', 'contact.created']);
    const [fresh] = house.messages(contactId);
    await house.sweep();
    expect(await here.messageEvents()).toEqual(received([before ?? '', fresh ?? '']));
  });

  it('is not deleted before two lists at least a minute apart lack it', async () => {
    const { house } = here;
    const contactId = house.contact(NUMBER);
    await house.sweep();
    house.control('contacts/delete', { contactId });
    for (let reads = 0; reads < 4; reads += 1) await house.list.poll(A);
    house.control('contacts/restore', { contactId });
    await house.sweep();
    expect(await typesOf()).toEqual([]);
  });

  it('that returns with the same number and a new id is a new contact whose history is not emitted', async () => {
    const { house } = here;
    const contactId = house.contact(NUMBER);
    here.createOldMessages(contactId, 5);
    await house.sweep();
    house.control('contacts/renumber-id', { contactId, newId: 'another' });
    await lists(3);
    await house.sweep();
    expect((await typesOf()).sort()).toEqual(['contact.created', 'contact.deleted']);
    expect(await house.recipient(NUMBER)).toBe('another');
    const ids = house.messages('another');
    await house.sweep();
    expect(await here.messageEvents()).toEqual(received(ids));
  });
});

describe('during an outage that looks like an empty account,', () => {
  /** Creates an account of 15 contacts: five with few messages, ten with many. */
  async function account(): Promise<string[]> {
    const { house } = here;
    house.control('contacts', { count: 15 });
    await house.list.poll(A);
    const ids = [...(await house.store.knownContacts(A)).contacts.keys()];
    ids.forEach((id, n) => here.createOldMessages(id, n < 5 ? 3 : 25));
    await house.sweep();
    return ids;
  }

  it.each([true, 'contacts', 'messages'] as const)(
    'nothing is deleted and account.suspect is emitted once: %s',
    async (outage) => {
      const { house } = here;
      const ids = await account();
      const poller = house.poller(house.source, 'silent', { sweepMs: 0, absenceMs: 0 });
      house.control('settings', { outage });
      for (let reads = 0; reads < 4; reads += 1) {
        await list.poll(A);
        for (const id of ids) await poller.poll(A, id);
      }
      expect(await typesOf()).toEqual(['account.suspect']);
      expect(await house.store.overview(A)).toHaveProperty('suspectSince');
      house.control('settings', { outage: false });
      const [fresh] = house.messages(ids[3] ?? '');
      await list.poll(A);
      for (const id of ids) await poller.poll(A, id);
      expect(await house.store.overview(A)).not.toHaveProperty('suspectSince');
      expect(await typesOf()).toEqual(['account.suspect', 'message.received']);
      expect(await here.messageEvents()).toEqual(received([fresh ?? '']));
    },
  );

  it('even contacts with few messages keep them, until another contact shows messages again', async () => {
    const { house } = here;
    const [first = '', second = '', third = ''] = ['+15551230001', '+15551230002', '+15551230003'].map(
      (number) => house.contact(number),
    );
    const gone = here.createOldMessages(first, 3);
    for (const id of [second, third]) here.createOldMessages(id, 3);
    await house.sweep();
    house.control('settings', { outage: 'messages' });
    for (const id of [first, second, third, first, second, third]) await here.readAllMinutesApart(id, 1);
    expect(await typesOf()).toEqual(['account.suspect']);
    // Upstream works again; one contact's messages are really deleted.
    house.control('settings', { outage: false });
    house.control('messages/delete', { ids: gone });
    await here.readAll(second);
    await here.readAllMinutesApart(first, 2);
    expect(await here.messageEvents()).toEqual([]);
    // Ten minutes later the suspicion has ended.
    await here.readAllMinutesApart(first, 10);
    expect(await here.messageEvents()).toEqual(gone.map((id) => `message.deleted ${id}`).sort());
  });

  it('messages of a contact created during two days of outage are emitted afterwards', async () => {
    const { house } = here;
    await account();
    house.control('settings', { outage: true, clockSkewMs: 2 * DAY_MS });
    await lists(3);
    const contactId = house.contact(NUMBER);
    const ids = house.messages(contactId, { timestamp: Date.now() + DAY_MS / 2 });
    house.control('settings', { outage: false });
    await house.sweep();
    expect(await typesOf()).toEqual(['account.suspect', 'contact.created', 'message.received']);
    expect(await here.messageEvents()).toEqual(received(ids));
  });

  it('an administrator can confirm the deletions: then they are emitted', async () => {
    const { house } = here;
    const ids = await account();
    house.control('contacts/delete', { contactIds: ids.slice(0, 12) });
    await lists(3);
    expect(await typesOf()).toEqual(['account.suspect']);
    expect(await house.store.overview(A)).toHaveProperty('suspectSince');
    await house.store.believeDeletions(A);
    expect(await house.store.overview(A)).not.toHaveProperty('suspectSince');
    await lists(1);
    expect((await typesOf()).filter((type) => type === 'contact.deleted')).toHaveLength(12);
  });
});
