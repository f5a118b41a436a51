import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ContactListPoll, type FeedSource, type FeedStore } from '#feed';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { A, House } from './house.js';

let server: TestRedis;
let house: House;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  house = await House.open(server.url);
});
afterEach(async () => {
  await house.close();
});

const due = (): Promise<string[]> => house.takeDue();

describe('the contact list', () => {
  it('that is read first is silent, and all its contacts are due', async () => {
    house.control('contacts', { count: 450 });
    await house.list.poll(A);
    expect(await house.types()).toEqual([]);
    expect((await house.store.knownContacts(A)).contacts.size).toBe(450);
    expect(await due()).toHaveLength(450);
    await house.list.poll(A);
    expect(await house.types()).toEqual([]);
    expect(await due()).toEqual([]);
  });

  it('tells a contact that comes later, once, and has it polled at once', async () => {
    await house.list.poll(A);
    const id = house.contact('+15551234567', { name: 'New' });
    await house.list.poll(A);
    await house.list.poll(A);
    expect(await house.told()).toMatchObject([
      { type: 'contact.created', contactId: id, sequence: 1, data: { contact: { id, name: 'New' } } },
    ]);
    expect(await due()).toEqual([id]);
    expect(await house.recipient('+15551234567')).toBe(id);
  });

  it('tells a change of any field with from and to, and has the contact polled at once', async () => {
    const id = house.contact('+15551234567', { name: 'Old', mood: { a: 1 } });
    await house.sweep();
    await due();
    house.control('contacts/edit', { contactId: id, name: 'New', mood: { a: 2 }, extra: true });
    await house.list.poll(A);
    await house.list.poll(A);
    const events = await house.told();
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ type: 'contact.updated', contactId: id });
    expect(events[0]?.data['changes']).toEqual({
      name: { from: 'Old', to: 'New' },
      mood: { from: { a: 1 }, to: { a: 2 } },
      extra: { to: true },
    });
    expect(await due()).toEqual([id]);
  });

  it('tells a change there and back as two', async () => {
    const contactId = house.contact('+15551234567', { name: 'a' });
    await house.list.poll(A);
    for (const name of ['b', 'a', 'b']) {
      house.control('contacts/edit', { contactId, name });
      await house.list.poll(A);
    }
    expect((await house.told()).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });

  it('is a hint: a contact whose last message moves is polled at once', async () => {
    house.control('settings', { extraContactFields: true });
    const id = house.contact('+15551234567');
    const other = house.contact('+15551234568');
    await house.list.poll(A);
    const slow = house.poller(house.source, 'silent', { interval: { min: 60_000, max: 60_000 } });
    for (const contactId of [id, other]) await slow.poll(A, contactId);
    expect(await due()).toEqual([]);
    house.messages(id);
    await house.list.poll(A);
    expect(await due()).toEqual([id]);
  });

  it('that cannot be read changes nothing', async () => {
    house.contact('+15551234567');
    for (const fault of ['status', 'html', 'emptyObject', 'truncatedJson']) {
      house.control('faults', { fault });
      await expect(house.list.poll(A)).rejects.toThrow();
    }
    expect(await house.store.knownContacts(A)).toMatchObject({ version: 0, contacts: { size: 0 } });
  });

  it('of two who read it at once tells each contact once', async () => {
    await house.list.poll(A);
    house.control('contacts', { count: 20 });
    await Promise.all([house.list.poll(A), house.list.poll(A), house.list.poll(A)]);
    expect(await house.types()).toEqual(Array.from({ length: 20 }, () => 'contact.created'));
  });

  it('whose first commit is broken off half-way is silent all the same', async () => {
    house.control('contacts', { count: 450 });
    let scripts = 0;
    const dying = new Proxy(house.redis, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          // The clock, the first part, and no more.
          if (name === 'call' && ++scripts > 2) return Promise.reject(new Error('killed'));
          return Reflect.apply(value, target, args);
        };
      },
    });
    const { RedisFeedStore } = await import('#feed');
    const store: FeedStore = new RedisFeedStore(dying, house.prefix);
    await expect(new ContactListPoll(store, house.source, 60_000).poll(A)).rejects.toThrow('killed');
    expect((await house.store.knownContacts(A)).contacts.size).toBe(200);
    await house.list.poll(A);
    expect((await house.store.knownContacts(A)).contacts.size).toBe(450);
    expect(await house.types()).toEqual([]);
  });
});

describe('a contact that is missing from the list', () => {
  /** Reads the list, of which so many elements cannot be read, as if the time between two reads were over. */
  const readWithUnreadable = (skipped: number): Promise<void> => {
    const source: FeedSource = {
      listContacts: async (...args) => ({ ...(await house.source.listContacts(...args)), skipped }),
      listMessages: (...args) => house.source.listMessages(...args),
    };
    return new ContactListPoll(house.store, source, 0).poll(A);
  };

  it('is not told as deleted while more elements than before cannot be read: one of them may be it', async () => {
    const id = house.contact('+15551234567');
    await readWithUnreadable(1);
    house.control('contacts/delete', { contactId: id });
    for (let reads = 0; reads < 3; reads += 1) await readWithUnreadable(2);
    expect(await house.types()).toEqual([]);
    await readWithUnreadable(1);
    expect(await house.types()).toEqual(['contact.deleted']);
  });

  it('is told as deleted where the element that cannot be read was there before, or came later', async () => {
    const [unreadable, early, late] = ['1', '2', '3'].map((n) => house.contact(`+1555123456${n}`));
    await readWithUnreadable(0);
    house.control('contacts/delete', { contactId: early });
    await readWithUnreadable(0);
    house.control('contacts/delete', { contactId: unreadable });
    await readWithUnreadable(1);
    house.control('contacts/delete', { contactId: late });
    for (let reads = 0; reads < 2; reads += 1) await readWithUnreadable(1);
    const told = await house.told();
    expect(told.map(({ type, contactId }) => [type, contactId])).toEqual([
      ['contact.deleted', early],
      ['contact.deleted', late],
    ]);
  });
});

describe('what is due', () => {
  it('is sooner for a contact that is hastened, never later', async () => {
    const id = house.contact('+15551234567');
    await house.sweep();
    await due();
    await house.store.hasten(A, id, 30_000);
    expect(await due()).toEqual([]);
    await house.store.hasten(A, id, 0);
    await house.store.hasten(A, id, 60_000);
    expect(await due()).toEqual([id]);
    await house.store.hasten(A, 'nobody', 0);
    expect(await due()).toEqual([]);
  });

  it('keeps a hastening that comes while the contact is polled', async () => {
    const id = house.contact('+15551234567');
    await house.sweep();
    await due();
    const poll = house.poller({
      ...house.source,
      listMessages: async (...args) => {
        await house.store.hasten(A, id, 0);
        return house.source.listMessages(...args);
      },
    });
    await poll.poll(A, id);
    expect(await due()).toEqual([id]);
  });

  it('does not come back after a poll whose hastening was before it', async () => {
    const id = house.contact('+15551234567');
    await house.sweep();
    await house.store.hasten(A, id, 0);
    expect(await due()).toEqual([id]);
    await house.polls.poll(A, id);
    expect(await due()).toEqual([]);
  });

  it('counts each contact once by how often it changes, and no more when it is gone', async () => {
    house.control('contacts', { count: 5 });
    await house.sweep();
    await house.sweep();
    const sum = async (): Promise<number> =>
      [...(await house.store.contactRates(A)).rates.values()].reduce((total, count) => total + count, 0);
    expect(await sum()).toBe(5);
    const [gone = ''] = (await house.store.knownContacts(A)).contacts.keys();
    house.messages(gone, { count: 3, intervalMs: 10 });
    await house.polls.poll(A, gone);
    expect(await sum()).toBe(5);
    house.control('contacts/delete', { contactId: gone });
    const list = new ContactListPoll(house.store, house.source, 0);
    for (let reads = 0; reads < 3; reads += 1) await list.poll(A);
    expect(await sum()).toBe(4);
    house.control('contacts/restore', { contactId: gone });
    await house.sweep();
    expect(await sum()).toBe(5);
  });
});
