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

describe('a read of the contact list', () => {
  it('emits nothing if it is the first, and makes all contacts due', async () => {
    house.control('contacts', { count: 450 });
    await house.list.poll(A);
    expect(await house.types()).toEqual([]);
    expect((await house.store.knownContacts(A)).contacts.size).toBe(450);
    expect(await due()).toHaveLength(450);
    await house.list.poll(A);
    expect(await house.types()).toEqual([]);
    expect(await due()).toEqual([]);
  });

  it('emits a new contact once and makes it due at once', async () => {
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

  it('emits a change of any field with from and to, and makes the contact due at once', async () => {
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

  it('emits a change and its reversal as two updates', async () => {
    const contactId = house.contact('+15551234567', { name: 'a' });
    await house.list.poll(A);
    for (const name of ['b', 'a', 'b']) {
      house.control('contacts/edit', { contactId, name });
      await house.list.poll(A);
    }
    expect((await house.told()).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });

  it('makes a contact due at once if its last message changed', async () => {
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

  it('changes nothing if it fails', async () => {
    house.contact('+15551234567');
    for (const fault of ['status', 'html', 'emptyObject', 'truncatedJson']) {
      house.control('faults', { fault });
      await expect(house.list.poll(A)).rejects.toThrow();
    }
    expect(await house.store.knownContacts(A)).toMatchObject({ version: 0, contacts: { size: 0 } });
  });

  it('emits each new contact once if several reads run at once', async () => {
    await house.list.poll(A);
    house.control('contacts', { count: 20 });
    await Promise.all([house.list.poll(A), house.list.poll(A), house.list.poll(A)]);
    expect(await house.types()).toEqual(Array.from({ length: 20 }, () => 'contact.created'));
  });

  it('emits nothing if it is the first, even after a commit that was aborted halfway', async () => {
    house.control('contacts', { count: 450 });
    let scripts = 0;
    const dying = new Proxy(house.redis, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          // Lets the read of the state and the first part of the commit through.
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
  /** Reads the list with this number of unreadable elements, without a minimum time between two reads. */
  const readWithUnreadable = (skipped: number): Promise<void> => {
    const source: FeedSource = {
      listContacts: async (...args) => ({ ...(await house.source.listContacts(...args)), skipped }),
      listMessages: (...args) => house.source.listMessages(...args),
    };
    return new ContactListPoll(house.store, source, 0).poll(A);
  };

  it('is not emitted as deleted while the list has more unreadable elements than before', async () => {
    const id = house.contact('+15551234567');
    await readWithUnreadable(1);
    house.control('contacts/delete', { contactId: id });
    for (let reads = 0; reads < 3; reads += 1) await readWithUnreadable(2);
    expect(await house.types()).toEqual([]);
    await readWithUnreadable(1);
    expect(await house.types()).toEqual(['contact.deleted']);
  });

  it('is emitted as deleted if an unreadable element appeared before or after the contact went missing', async () => {
    const [unreadable, early, late] = ['1', '2', '3'].map((n) => house.contact(`+1555123456${n}`));
    await readWithUnreadable(0);
    house.control('contacts/delete', { contactId: early });
    await readWithUnreadable(0);
    house.control('contacts/delete', { contactId: unreadable });
    await readWithUnreadable(1);
    house.control('contacts/delete', { contactId: late });
    for (let reads = 0; reads < 2; reads += 1) await readWithUnreadable(1);
    const emitted = await house.told();
    expect(emitted.map(({ type, contactId }) => [type, contactId])).toEqual([
      ['contact.deleted', early],
      ['contact.deleted', late],
    ]);
  });
});

describe('the due contacts', () => {
  it('include a contact after a request to poll it now; a later due time is ignored', async () => {
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

  it('include a contact for which a sooner poll was requested during its poll', async () => {
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

  it('do not include a contact for which a sooner poll was requested before its poll', async () => {
    const id = house.contact('+15551234567');
    await house.sweep();
    await house.store.hasten(A, id, 0);
    expect(await due()).toEqual([id]);
    await house.polls.poll(A, id);
    expect(await due()).toEqual([]);
  });

  it('are counted once each by their rate of change, and no longer once they are deleted', async () => {
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
