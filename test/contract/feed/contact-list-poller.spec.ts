import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ContactListPoller, type FeedSource, type FeedStore, MIN_ABSENCE_UNTIL_DELETED_MS } from '#feed';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { ACCOUNT, FeedHarness } from './feed-harness.js';

let server: TestRedis;
let harness: FeedHarness;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  harness = await FeedHarness.open(server.url);
});
afterEach(async () => {
  await harness.close();
});

const due = (): Promise<string[]> => harness.takeDue();

describe('a read of the contact list', () => {
  it('emits no event and makes all contacts due if it is the first read', async () => {
    harness.control('contacts', { count: 450 });
    await harness.list.poll(ACCOUNT);
    expect(await harness.eventTypes()).toEqual([]);
    expect((await harness.store.contactListSnapshot(ACCOUNT)).contacts.size).toBe(450);
    expect(await due()).toHaveLength(450);
    await harness.list.poll(ACCOUNT);
    expect(await harness.eventTypes()).toEqual([]);
    expect(await due()).toEqual([]);
  });

  it('emits contact.created once for a new contact, and makes the contact due at once', async () => {
    await harness.list.poll(ACCOUNT);
    const id = harness.createContact('+15551234567', { name: 'New' });
    await harness.list.poll(ACCOUNT);
    await harness.list.poll(ACCOUNT);
    expect(await harness.deliveredEvents()).toMatchObject([
      { type: 'contact.created', contactId: id, sequence: 1, data: { contact: { id, name: 'New' } } },
    ]);
    expect(await due()).toEqual([id]);
    expect(await harness.ownerOf('+15551234567')).toBe(id);
  });

  it('emits contact.updated for a change of any field, with its old and new value, and makes the contact due at once', async () => {
    const id = harness.createContact('+15551234567', { name: 'Old', mood: { a: 1 } });
    await harness.sweep();
    await due();
    harness.control('contacts/edit', { contactId: id, name: 'New', mood: { a: 2 }, extra: true });
    await harness.list.poll(ACCOUNT);
    await harness.list.poll(ACCOUNT);
    const events = await harness.deliveredEvents();
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ type: 'contact.updated', contactId: id });
    expect(events[0]?.data['changes']).toEqual({
      name: { from: 'Old', to: 'New' },
      mood: { from: { a: 1 }, to: { a: 2 } },
      extra: { to: true },
    });
    expect(await due()).toEqual([id]);
  });

  it('emits contact.updated for each change of a field, even if a change reverses the previous one', async () => {
    const contactId = harness.createContact('+15551234567', { name: 'a' });
    await harness.list.poll(ACCOUNT);
    for (const name of ['b', 'a', 'b']) {
      harness.control('contacts/edit', { contactId, name });
      await harness.list.poll(ACCOUNT);
    }
    expect((await harness.deliveredEvents()).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });

  it('makes a contact due at once if the list shows a new last message of the contact', async () => {
    harness.control('settings', { extraContactFields: true });
    const id = harness.createContact('+15551234567');
    const other = harness.createContact('+15551234568');
    await harness.list.poll(ACCOUNT);
    const slow = harness.poller(harness.source, 'silent', { interval: { min: 60_000, max: 60_000 } });
    for (const contactId of [id, other]) await slow.poll(ACCOUNT, contactId);
    expect(await due()).toEqual([]);
    harness.createMessages(id);
    await harness.list.poll(ACCOUNT);
    expect(await due()).toEqual([id]);
  });

  it('changes no stored contact if it fails', async () => {
    harness.createContact('+15551234567');
    for (const fault of ['status', 'html', 'emptyObject', 'truncatedJson']) {
      harness.control('faults', { fault });
      await expect(harness.list.poll(ACCOUNT)).rejects.toThrow();
    }
    expect(await harness.store.contactListSnapshot(ACCOUNT)).toMatchObject({
      version: 0,
      contacts: { size: 0 },
    });
  });

  it('emits contact.created only once for each new contact, even if several reads run concurrently', async () => {
    await harness.list.poll(ACCOUNT);
    harness.control('contacts', { count: 20 });
    await Promise.all([harness.list.poll(ACCOUNT), harness.list.poll(ACCOUNT), harness.list.poll(ACCOUNT)]);
    expect(await harness.eventTypes()).toEqual(Array.from({ length: 20 }, () => 'contact.created'));
  });

  /** Reads a list of 450 contacts with a process that stops after the first of three parts of the commit. */
  async function stopDuringFirstCommit(): Promise<void> {
    // Loads the scripts into Redis. From then on, each run of a script is a single call.
    await harness.list.poll('another-account');
    harness.control('contacts', { count: 450 });
    let scripts = 0;
    const dying = new Proxy(harness.redis, {
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
    const store: FeedStore = new RedisFeedStore(dying, harness.prefix);
    await expect(new ContactListPoller(store, harness.source, 60_000).poll(ACCOUNT)).rejects.toThrow(
      'killed',
    );
    expect((await harness.store.contactListSnapshot(ACCOUNT)).contacts.size).toBe(200);
  }

  it('still counts as the first read, and emits no event, if the only earlier read stopped during its commit', async () => {
    await stopDuringFirstCommit();
    await harness.list.poll(ACCOUNT);
    expect((await harness.store.contactListSnapshot(ACCOUNT)).contacts.size).toBe(450);
    expect(await harness.eventTypes()).toEqual([]);
  });

  it('loses no message that arrived after the account was added, even if the only earlier read stopped during its commit', async () => {
    await stopDuringFirstCommit();
    const before = await harness.store.contactListSnapshot(ACCOUNT);
    const addedAt = before.now - 300_000;
    const list = new ContactListPoller(harness.store, harness.source, 60_000, () => Promise.resolve(addedAt));
    await list.poll(ACCOUNT);
    const { contacts } = await harness.store.contactListSnapshot(ACCOUNT);
    const added = [...contacts.keys()].filter((id) => before.contacts.get(id) === undefined);
    expect(added).toHaveLength(250);
    for (const id of added)
      expect((await harness.store.contactState(ACCOUNT, id))?.emitAfter).toBeLessThan(addedAt);
  });
});

describe('a contact that is missing from the contact list', () => {
  /** Reads the list with this number of unreadable elements, without a minimum time between two reads. */
  const readWithUnreadable = (skipped: number): Promise<void> => {
    const source: FeedSource = {
      listContacts: async (...args) => ({ ...(await harness.source.listContacts(...args)), skipped }),
      listMessages: (...args) => harness.source.listMessages(...args),
    };
    return new ContactListPoller(harness.store, source, 0).poll(ACCOUNT);
  };

  it('is not reported as deleted while the list has a new unreadable element, which may be the contact', async () => {
    const id = harness.createContact('+15551234567');
    await readWithUnreadable(1);
    harness.control('contacts/delete', { contactId: id });
    for (let reads = 0; reads < 3; reads += 1) await readWithUnreadable(2);
    expect(await harness.eventTypes()).toEqual([]);
    await readWithUnreadable(1);
    expect(await harness.eventTypes()).toEqual(['contact.deleted']);
  });

  it('is counted in the polling status while its element of the list is unreadable', async () => {
    for (const count of [0, 2, 1, 0]) {
      await readWithUnreadable(count);
      expect((await harness.store.overview(ACCOUNT)).unreadableContacts).toBe(count);
    }
  });

  it('is reported as deleted, unless an unreadable element appeared in the list when the contact vanished', async () => {
    const [unreadable, early, late] = ['1', '2', '3'].map((n) => harness.createContact(`+1555123456${n}`));
    await readWithUnreadable(0);
    harness.control('contacts/delete', { contactId: early });
    await readWithUnreadable(0);
    harness.control('contacts/delete', { contactId: unreadable });
    await readWithUnreadable(1);
    harness.control('contacts/delete', { contactId: late });
    for (let reads = 0; reads < 2; reads += 1) await readWithUnreadable(1);
    const emitted = await harness.deliveredEvents();
    expect(emitted.map(({ type, contactId }) => [type, contactId])).toEqual([
      ['contact.deleted', early],
      ['contact.deleted', late],
    ]);
  });
});

describe('the poll schedule', () => {
  it('makes a contact due at once after a request to poll it now, even if a second request names a later time', async () => {
    const id = harness.createContact('+15551234567');
    await harness.sweep();
    // Whatever time the earlier poll scheduled, the request makes the contact due now, and `due()` claims it.
    await harness.store.expeditePoll(ACCOUNT, id, 0);
    expect(await due()).toEqual([id]);
    await harness.store.expeditePoll(ACCOUNT, id, 30_000);
    expect(await due()).toEqual([]);
    await harness.store.expeditePoll(ACCOUNT, id, 0);
    await harness.store.expeditePoll(ACCOUNT, id, 60_000);
    expect(await due()).toEqual([id]);
    await harness.store.expeditePoll(ACCOUNT, 'nobody', 0);
    expect(await due()).toEqual([]);
  });

  it('makes a contact due again if a poll was requested while another poll of the contact was running', async () => {
    const id = harness.createContact('+15551234567');
    await harness.sweep();
    await due();
    const poll = harness.poller({
      ...harness.source,
      listMessages: async (...args) => {
        await harness.store.expeditePoll(ACCOUNT, id, 0);
        return harness.source.listMessages(...args);
      },
    });
    await poll.poll(ACCOUNT, id);
    expect(await due()).toEqual([id]);
  });

  it('makes a contact due only once after a request to poll it now', async () => {
    const id = harness.createContact('+15551234567');
    await harness.sweep();
    await harness.store.expeditePoll(ACCOUNT, id, 0);
    expect(await due()).toEqual([id]);
    await harness.polls.poll(ACCOUNT, id);
    expect(await due()).toEqual([]);
  });

  it('counts each contact once in the histogram of message rates, until the contact is deleted', async () => {
    harness.control('contacts', { count: 5 });
    await harness.sweep();
    await harness.sweep();
    const sum = async (): Promise<number> =>
      [...(await harness.store.contactRates(ACCOUNT)).rates.values()].reduce(
        (total, count) => total + count,
        0,
      );
    expect(await sum()).toBe(5);
    const [gone = ''] = (await harness.store.contactListSnapshot(ACCOUNT)).contacts.keys();
    harness.createMessages(gone, { count: 3, intervalMs: 10 });
    await harness.polls.poll(ACCOUNT, gone);
    expect(await sum()).toBe(5);
    harness.control('contacts/delete', { contactId: gone });
    const list = new ContactListPoller(harness.store, harness.source, 0);
    for (let reads = 0; reads < 3; reads += 1) await list.poll(ACCOUNT);
    expect(await sum()).toBe(4);
    harness.control('contacts/restore', { contactId: gone });
    await harness.sweep();
    expect(await sum()).toBe(5);
  });
});

describe('a contact list with new ids for all contacts', () => {
  it('causes only the event account.suspect, even if a crash interrupts the commit after more than half of the new contacts', async () => {
    harness.control('contacts', { count: 450 });
    await harness.list.poll(ACCOUNT);
    harness.control('upstream-replaced', { keep: 'everything' });
    const { store } = harness;
    const interrupted = Object.assign(Object.create(store) as typeof store, {
      commitContacts: (...[account, commit]: Parameters<FeedStore['commitContacts']>) =>
        store.commitContacts(account, { ...commit, updates: firstOf(commit.updates, 420) }),
    });
    const list = new ContactListPoller(interrupted, harness.source, MIN_ABSENCE_UNTIL_DELETED_MS);
    await expect(list.poll(ACCOUNT)).rejects.toThrow('crash');
    expect((await store.contactListSnapshot(ACCOUNT)).contacts.size).toBe(850);
    await harness.list.poll(ACCOUNT);
    expect((await store.contactListSnapshot(ACCOUNT)).contacts.size).toBe(900);
    expect(await harness.eventTypes()).toEqual(['account.suspect']);
    const id = harness.createContact('+15551234567');
    await harness.list.poll(ACCOUNT);
    expect((await harness.deliveredEvents()).slice(1)).toMatchObject([
      { type: 'contact.created', contactId: id },
    ]);
  });
});

/** Yields the first elements, then fails. */
async function* firstOf<T>(elements: Iterable<T> | AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let left = count;
  for await (const element of elements) {
    if (left === 0) throw new Error('crash');
    left -= 1;
    yield element;
  }
}
