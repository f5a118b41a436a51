import { describe, expect, it } from '@jest/globals';
import { ContactListPoller, type FeedSource } from '#feed';
import { ACCOUNT } from './feed-harness.js';
import { DAY_MS, NUMBER, WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();

const READS = 12;

/** Creates a contact with old messages, each with a picture. */
async function withPictures(count: number): Promise<string> {
  const contactId = here.harness.createContact(NUMBER);
  const attachments = [{ id: 'f', url: 'https://files.example/f.jpg?w=200', contentType: 'image/jpeg' }];
  here.harness.createMessages(contactId, {
    count,
    timestamp: Date.now() - 3 * DAY_MS,
    intervalMs: 1_000,
    attachments,
  });
  await here.harness.sweep();
  return contactId;
}

async function read(contactId: string, reads: number): Promise<void> {
  for (let n = 0; n < reads; n += 1) await here.harness.polls.poll(ACCOUNT, contactId);
}

/** Returns the highest number of events of a single message. */
async function maxEventsPerMessage(): Promise<number> {
  const counts = new Map<string, number>();
  for (const event of await here.messageEvents()) {
    const id = event.split(' ')[1] ?? '';
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}

const types = async (): Promise<string[]> =>
  (await here.messageEvents()).map((event) => event.split(' ')[0] ?? '');

describe('attachment URLs whose signature differs at each read', () => {
  it('cause no event if the signature is in the query', async () => {
    here.harness.control('settings', { signedAddresses: 'query' });
    const contactId = await withPictures(45);
    await read(contactId, READS);
    await here.readAll(contactId);
    expect(await here.messageEvents()).toEqual([]);
  });

  it('cause one message.updated if the picture changes', async () => {
    const { harness } = here;
    harness.control('settings', { signedAddresses: 'query' });
    const contactId = await withPictures(3);
    const [id] = harness.createMessages(contactId, { attachments: [{ url: 'https://files.example/1.jpg' }] });
    await read(contactId, 3);
    harness.control('messages/edit', { id, attachments: [{ url: 'https://files.example/2.jpg' }] });
    await read(contactId, 3);
    expect(await here.messageEvents()).toEqual([`message.received ${id}`, `message.updated ${id}`]);
    const updated = (await harness.deliveredEvents()).find(({ type }) => type === 'message.updated');
    // The event contains the whole URL as upstream sent it.
    expect(updated?.data['message']).toMatchObject({
      attachments: [{ url: expect.stringMatching(/2\.jpg\?Expires=\d+&Signature=/) }],
    });
  });

  it.each([45, 2])(
    'cause at most two events per message if the signature is in the path (number of messages: %d)',
    async (count) => {
      here.harness.control('settings', { signedAddresses: 'path' });
      const contactId = await withPictures(count);
      await read(contactId, READS);
      for (let n = 0; n < 3; n += 1) await here.readAll(contactId);
      expect(await maxEventsPerMessage()).toBe(2);
      expect(await here.harness.volatile.volatileFields(ACCOUNT)).toEqual([
        { of: 'message', field: 'attachments', contacts: 1 },
      ]);
    },
  );

  it('do not hide other changes or new messages', async () => {
    const { harness } = here;
    harness.control('settings', { signedAddresses: 'path' });
    const contactId = await withPictures(10);
    await read(contactId, READS);
    const before = (await here.messageEvents()).length;
    const [id] = harness.createMessages(contactId, {
      direction: 'outbound',
      attachments: [{ url: 'https://a.example/1' }],
    });
    await read(contactId, 2);
    harness.control('messages/flags', { id, delivered: true });
    await read(contactId, 2);
    harness.control('messages/edit', { id, message: 'other' });
    await read(contactId, 2);
    const emitted = (await harness.deliveredEvents())
      .filter(({ type }) => type.startsWith('message.'))
      .slice(before);
    expect(emitted.map(({ type }) => type)).toEqual(['message.sent', 'message.delivered', 'message.updated']);
    expect(emitted[2]?.data['changes']).toEqual({ message: { to: 'other' } });
  });

  it('cause no event when they stop changing, and are compared again from then on', async () => {
    const { harness } = here;
    harness.control('settings', { signedAddresses: 'path' });
    const contactId = await withPictures(10);
    const [id] = harness.createMessages(contactId, { attachments: [{ url: 'https://a.example/1' }] });
    await read(contactId, READS);
    harness.control('settings', { signedAddresses: 'off' });
    const before = (await here.messageEvents()).length;
    await read(contactId, 7);
    expect(await harness.volatile.volatileFields(ACCOUNT)).toEqual([]);
    await here.readAll(contactId);
    expect((await here.messageEvents()).length).toBe(before);
    harness.control('messages/edit', { id, attachments: [{ url: 'https://a.example/2' }] });
    await read(contactId, 1);
    expect((await types()).length).toBe(before + 1);
    expect(await here.messageEvents()).toContain(`message.updated ${id}`);
  });
});

describe('a contact field that differs at each read of the contact list', () => {
  const updates = async (): Promise<number> =>
    (await here.harness.eventTypes()).filter((type) => type === 'contact.updated').length;
  const contacts = (count: number): string[] =>
    Array.from({ length: count }, (_, i) => here.harness.createContact(`+1555000${1_000 + i}`));
  const lists = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) await here.harness.list.poll(ACCOUNT);
  };

  it('causes no event and makes no contact due if only the signature in the query of a URL differs', async () => {
    here.harness.control('settings', { signedAddresses: 'query' });
    contacts(12);
    await lists(1);
    await here.harness.takeDue();
    await lists(5);
    expect(await updates()).toBe(0);
    expect(await here.harness.takeDue()).toEqual([]);
  });

  it('is muted after two events per contact, if the field is a URL with a signature in its path; changes of other fields are still emitted', async () => {
    const { harness } = here;
    harness.control('settings', { signedAddresses: 'path', extraContactFields: true });
    const [contactId = ''] = contacts(12);
    await lists(READS);
    expect(await updates()).toBe(24);
    expect(await harness.volatile.volatileFields(ACCOUNT)).toEqual([
      { of: 'contact', field: 'avatarUrl', contacts: 12 },
    ]);
    await harness.takeDue();
    harness.createMessages(contactId);
    await lists(2);
    expect(await harness.takeDue()).toEqual([contactId]);
    expect(await updates()).toBe(25);
    const last = (await harness.deliveredEvents()).at(-1);
    expect(Object.keys(last?.data['changes'] ?? {}).sort()).toEqual(['lastMessageAt', 'unreadCount']);
  });

  it('causes no event when the field stops changing, and is compared again from then on', async () => {
    const { harness } = here;
    harness.control('settings', { signedAddresses: 'path' });
    const ids = contacts(12);
    for (const contactId of ids)
      harness.control('contacts/edit', { contactId, avatarUrl: 'https://a.example/1' });
    await lists(READS);
    // The field stays, with a constant value.
    harness.control('settings', { signedAddresses: 'off' });
    const before = await updates();
    await lists(8);
    expect(await harness.volatile.volatileFields(ACCOUNT)).toEqual([]);
    expect(await updates()).toBe(before);
    harness.control('contacts/edit', { contactId: ids[0], avatarUrl: 'https://a.example/2' });
    await lists(2);
    expect(await updates()).toBe(before + 1);
  });

  it('still causes an event at each change if the field changes for only 12 of 100 contacts, even if the reply of upstream contains another list besides the contacts', async () => {
    const { harness } = here;
    harness.control('contacts', { count: 100 });
    await harness.list.poll(ACCOUNT);
    const source: FeedSource = {
      ...harness.source,
      listContacts: async (account, purpose, newReader) => {
        const list = await harness.source.listContacts(account, purpose, newReader);
        // Simulates that the reply contains another list, for which a reader is created, too.
        newReader();
        return list;
      },
    };
    const volatile = { store: harness.volatile, logger: harness.logger };
    const poller = new ContactListPoller(harness.store, source, 60_000, undefined, volatile);
    const ids = [...(await harness.store.contactListSnapshot(ACCOUNT)).contacts.keys()].slice(0, 12);
    for (let read = 1; read <= 6; read += 1) {
      for (const contactId of ids) harness.control('contacts/edit', { contactId, name: `Name ${read}` });
      await poller.poll(ACCOUNT);
      const updates = (await harness.eventTypes()).filter((type) => type === 'contact.updated');
      expect(updates).toHaveLength(12 * read);
    }
  });

  it('still causes an event at each change if the field changes for only one contact', async () => {
    const { harness } = here;
    harness.control('settings', { extraContactFields: true });
    const [contactId = ''] = contacts(12);
    await lists(1);
    for (let n = 0; n < 15; n += 1) {
      harness.createMessages(contactId);
      await lists(1);
    }
    expect(await updates()).toBe(15);
  });
});
