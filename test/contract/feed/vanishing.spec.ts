import { beforeEach, describe, expect, it } from '@jest/globals';
import { ContactListPoller, type FeedSource, MIN_ABSENCE_UNTIL_DELETED_MS } from '#feed';
import { NO_ROW_UPDATE } from '#conversations';
import { accountKeys } from '#platform';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from './feed-harness.js';
import { DAY_MS, NUMBER, received, WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();
/** Poll of the contact list without a minimum time between the two reads of a deletion. */
let list: ContactListPoller;
beforeEach(() => {
  list = new ContactListPoller(here.harness.store, here.harness.source, 0);
});

async function lists(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await list.poll(ACCOUNT);
}
/** Key of the contacts whose older messages are due, with the times. */
const deepReadsKey = (): string => accountKeys(here.harness.prefix, ACCOUNT)('polls', 'deep');
const typesOf = async (): Promise<string[]> => here.harness.eventTypes();

describe('a missing message', () => {
  it.each([
    { order: 'newestFirst', missingPageStatus: null },
    { order: 'oldestFirst', missingPageStatus: null },
    { order: 'newestFirst', missingPageStatus: 404 },
    { order: 'oldestFirst', missingPageStatus: 416 },
  ])(
    'is reported as deleted, with its last content if the event log has that content, else only with its id (simulator settings: %j)',
    async (settings) => {
      const { harness } = here;
      harness.control('settings', settings);
      const { contactId, ids: old } = await here.createKnownContact(25);
      const [id = ''] = harness.createMessages(contactId, { text: 'soon gone' });
      await harness.sweep();
      harness.control('messages/delete', { ids: [id, old[3]] });
      await here.readAllMinutesApart(contactId, 2);
      const deleted = (await harness.deliveredEvents()).slice(1);
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
  )(
    'is noticed by the next read of the newest messages if all messages fit on one page (order: $order; message: $index)',
    async (given) => {
      const { harness } = here;
      harness.control('settings', { order: given.order });
      const { contactId, ids } = await here.createKnownContact(5);
      await harness.polls.poll(ACCOUNT, contactId);
      expect((await harness.store.contactState(ACCOUNT, contactId))?.pollState.completeDueAt).toBeUndefined();
      harness.control('messages/delete', { id: ids[given.index] });
      await harness.polls.poll(ACCOUNT, contactId);
      expect((await harness.store.contactState(ACCOUNT, contactId))?.pollState.completeDueAt).toBeDefined();
    },
  );

  it.each([
    ['a sweep', false],
    ['a read of all pages that another missing message caused', true],
  ])(
    'is noticed even if the message vanishes after its page was read but before the end of %s',
    async (_, isRequested) => {
      const { harness } = here;
      const { contactId, ids } = await here.createKnownContact(5);
      if (isRequested) {
        harness.control('messages/delete', { id: ids[0] });
        await harness.polls.pollHead(ACCOUNT, contactId);
        harness.control('messages/restore', { id: ids[0] });
        harness.store.aheadMs += 1_000;
      }
      const source = here.afterPage(2, async () => {
        harness.store.aheadMs += 1_000;
        harness.control('messages/delete', { id: ids[4] });
        await harness.polls.pollHead(ACCOUNT, contactId);
      });
      await harness.poller(source, 'silent', { sweepMs: 0 }).runDeepRead(ACCOUNT, contactId, 'poll');
      const state = await harness.store.contactState(ACCOUNT, contactId);
      expect(state?.pollState.completeDueAt).toBeLessThanOrEqual(state?.now ?? 0);
      expect(await harness.redis.zscore(deepReadsKey(), contactId)).not.toBeNull();
      await harness.polls.poll(ACCOUNT, contactId);
      harness.store.aheadMs += 2 * MIN_ABSENCE_UNTIL_DELETED_MS;
      await harness.polls.poll(ACCOUNT, contactId);
      expect(await here.messageEvents()).toEqual([`message.deleted ${ids[4] ?? ''}`]);
    },
  );

  it('is reported as deleted only after two reads without the message, at least a minute apart', async () => {
    const { contactId, ids } = await here.createKnownContact(25);
    here.harness.control('messages/delete', { id: ids[20] });
    for (let reads = 0; reads < 4; reads += 1) await here.readAll(contactId);
    const state = await here.harness.store.contactState(ACCOUNT, contactId);
    expect(await typesOf()).toEqual([]);
    expect(state?.pollState.completeDueAt).toBeGreaterThan(state?.now ?? Infinity);
  });

  it('is not reported as deleted by a read that began less than a minute after the first read without the message', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(25);
    harness.control('messages/delete', { id: ids[20] });
    await here.readAllMinutesApart(contactId, 1);
    harness.store.aheadMs += MIN_ABSENCE_UNTIL_DELETED_MS / 2;
    const slow = here.afterPage(2, () => {
      harness.store.aheadMs += MIN_ABSENCE_UNTIL_DELETED_MS;
    });
    await harness.poller(slow, 'silent', { sweepMs: 0 }).runDeepRead(ACCOUNT, contactId, 'poll');
    expect(await typesOf()).toEqual([]);
    await here.readAllMinutesApart(contactId, 1);
    expect(await typesOf()).toEqual(['message.deleted']);
  });

  it('causes no event if the message returns before message.deleted, and one message.updated if the message returns afterwards', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(5);
    const [id = ''] = ids;
    harness.control('messages/delete', { id });
    await here.readAll(contactId);
    harness.control('messages/restore', { id });
    await here.readAll(contactId);
    expect(await typesOf()).toEqual([]);
    harness.control('messages/delete', { id });
    await here.readAllMinutesApart(contactId, 2);
    harness.control('messages/restore', { id });
    await here.readAll(contactId);
    await here.readAll(contactId);
    expect(await typesOf()).toEqual(['message.deleted', 'message.updated']);
    expect((await harness.deliveredEvents())[1]?.data['changes']).toEqual({
      deleted: { from: true, to: false },
    });
  });
});

describe('one of the newest messages that is deleted just before older messages are checked for changed flags', () => {
  it('is reported as deleted by the polls of the next minutes, without a sweep', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(30);
    const timestamp = Date.now() - DAY_MS;
    const [unsettled] = harness.createMessages(contactId, { direction: 'outbound', timestamp });
    ids.push(
      ...harness.createMessages(contactId, { count: 30, timestamp: timestamp + 1_000, intervalMs: 10 }),
    );
    for (let reads = 0; reads < 2; reads += 1) await harness.sweep();
    const before = await here.messageEvents();
    const gone = ids.at(-5) ?? '';
    harness.control('messages/delete', { id: gone });
    harness.control('messages/flags', { id: unsettled, delivered: true });
    harness.store.aheadMs += 6 * 3_600_000;
    await harness.poller(harness.source).runDeepRead(ACCOUNT, contactId, 'poll');
    for (let reads = 0; reads < 3; reads += 1) {
      harness.store.aheadMs += MIN_ABSENCE_UNTIL_DELETED_MS + 2_000;
      await harness.poller(harness.source).poll(ACCOUNT, contactId);
    }
    const events = (await here.messageEvents()).filter((event) => !before.includes(event));
    expect(events).toEqual([`message.deleted ${gone}`, `message.delivered ${unsettled ?? ''}`]);
  });
});

describe('a missing contact', () => {
  it('is reported as deleted only by a read of the contact list at least the minimum time after the end of the first read without the contact', async () => {
    const { harness } = here;
    const absenceMs = 400;
    const contactId = harness.createContact(NUMBER);
    await lists(1);
    let deletedAt: number | undefined;
    const source: FeedSource = {
      ...harness.source,
      listContacts: async (...args) => {
        const askedAt = performance.now();
        // The reply to the first read without the contact is late. The contact is deleted just before that reply.
        await eventually('the reply is late', () =>
          Promise.resolve(deletedAt !== undefined || performance.now() - askedAt > absenceMs),
        );
        if (deletedAt === undefined) harness.control('contacts/delete', { contactId });
        deletedAt ??= performance.now();
        return harness.source.listContacts(...args);
      },
    };
    const slow = new ContactListPoller(harness.store, source, absenceMs);
    await slow.poll(ACCOUNT);
    await eventually('the contact is reported as deleted', async () => {
      await slow.poll(ACCOUNT);
      return (await typesOf()).includes('contact.deleted');
    });
    expect(performance.now() - (deletedAt ?? 0)).toBeGreaterThan(absenceMs);
  });

  it('that returns after contact.deleted causes contact.created, but no events of its known messages', async () => {
    const { harness } = here;
    const contactId = harness.createContact(NUMBER, { name: 'Ann' });
    harness.createContact('+15551234568');
    here.createOldMessages(contactId, 5);
    await harness.sweep();
    const [before] = harness.createMessages(contactId);
    await harness.sweep();
    harness.control('contacts/delete', { contactId });
    await lists(3);
    expect(await typesOf()).toEqual(['message.received', 'contact.deleted']);
    expect((await harness.deliveredEvents())[1]?.data['contact']).toMatchObject({
      id: contactId,
      name: 'Ann',
    });
    harness.control('contacts/restore', { contactId });
    await harness.sweep();
    await harness.sweep();
    expect(await typesOf()).toEqual(['message.received', 'contact.deleted', 'contact.created']);
    const [fresh] = harness.createMessages(contactId);
    await harness.sweep();
    expect(await here.messageEvents()).toEqual(received([before ?? '', fresh ?? '']));
  });

  it('is reported as deleted only after two contact lists without the contact, at least a minute apart', async () => {
    const { harness } = here;
    const contactId = harness.createContact(NUMBER);
    await harness.sweep();
    harness.control('contacts/delete', { contactId });
    for (let reads = 0; reads < 4; reads += 1) await harness.list.poll(ACCOUNT);
    harness.control('contacts/restore', { contactId });
    await harness.sweep();
    expect(await typesOf()).toEqual([]);
  });

  it('that returns with a new id counts as a new contact, but its old messages cause no event', async () => {
    const { harness } = here;
    const contactId = harness.createContact(NUMBER);
    here.createOldMessages(contactId, 5);
    await harness.sweep();
    harness.control('contacts/renumber-id', { contactId, newId: 'another' });
    await lists(3);
    await harness.sweep();
    expect((await typesOf()).sort()).toEqual(['contact.created', 'contact.deleted']);
    expect(await harness.ownerOf(NUMBER)).toBe('another');
    const ids = harness.createMessages('another');
    await harness.sweep();
    expect(await here.messageEvents()).toEqual(received(ids));
  });
});

describe('during an outage that looks like an empty account,', () => {
  /** Creates an account of 15 contacts: five with few messages, ten with many. */
  async function account(): Promise<string[]> {
    const { harness } = here;
    harness.control('contacts', { count: 15 });
    await harness.list.poll(ACCOUNT);
    const ids = [...(await harness.store.contactListSnapshot(ACCOUNT)).contacts.keys()];
    ids.forEach((id, n) => here.createOldMessages(id, n < 5 ? 3 : 25));
    await harness.sweep();
    return ids;
  }

  it.each([true, 'contacts', 'messages'] as const)(
    'nothing is reported as deleted, and account.suspect is emitted once (simulator setting outage: %s)',
    async (outage) => {
      const { harness } = here;
      const ids = await account();
      const poller = harness.poller(harness.source, 'silent', { sweepMs: 0, absenceMs: 0 });
      harness.control('settings', { outage });
      for (let reads = 0; reads < 4; reads += 1) {
        await list.poll(ACCOUNT);
        for (const id of ids) await poller.poll(ACCOUNT, id);
      }
      expect(await typesOf()).toEqual(['account.suspect']);
      expect(await harness.store.overview(ACCOUNT)).toHaveProperty('suspectSince');
      harness.control('settings', { outage: false });
      const [fresh] = harness.createMessages(ids[3] ?? '');
      await list.poll(ACCOUNT);
      for (const id of ids) await poller.poll(ACCOUNT, id);
      expect(await harness.store.overview(ACCOUNT)).not.toHaveProperty('suspectSince');
      expect(await typesOf()).toEqual(['account.suspect', 'message.received']);
      expect(await here.messageEvents()).toEqual(received([fresh ?? '']));
    },
  );

  it('no message is reported as deleted until messages of another contact show that the outage is over', async () => {
    const { harness } = here;
    const [first = '', second = '', third = ''] = ['+15551230001', '+15551230002', '+15551230003'].map(
      (number) => harness.createContact(number),
    );
    const gone = here.createOldMessages(first, 3);
    for (const id of [second, third]) here.createOldMessages(id, 3);
    await harness.sweep();
    harness.control('settings', { outage: 'messages' });
    for (const id of [first, second, third, first, second, third]) await here.readAllMinutesApart(id, 1);
    expect(await typesOf()).toEqual(['account.suspect']);
    // Upstream works again; one contact's messages are really deleted.
    harness.control('settings', { outage: false });
    harness.control('messages/delete', { ids: gone });
    await here.readAll(second);
    await here.readAllMinutesApart(first, 2);
    expect(await here.messageEvents()).toEqual([]);
    // Ten minutes later the suspicion has ended.
    await here.readAllMinutesApart(first, 10);
    expect(await here.messageEvents()).toEqual(gone.map((id) => `message.deleted ${id}`).sort());
  });

  it('messages of a new contact are not lost: they cause message.received after the outage', async () => {
    const { harness } = here;
    await account();
    harness.control('settings', { outage: true, clockSkewMs: 2 * DAY_MS });
    await lists(3);
    const contactId = harness.createContact(NUMBER);
    const ids = harness.createMessages(contactId, { timestamp: Date.now() + DAY_MS / 2 });
    harness.control('settings', { outage: false });
    await harness.sweep();
    expect(await typesOf()).toEqual(['account.suspect', 'contact.created', 'message.received']);
    expect(await here.messageEvents()).toEqual(received(ids));
  });

  it('the account does not stay suspect because of a contact that was deleted during a read of its messages', async () => {
    const { harness } = here;
    const [contactId = '', other = ''] = ['+15551230001', '+15551230002'].map((number) =>
      harness.createContact(number),
    );
    for (const id of [contactId, other]) here.createOldMessages(id, 3);
    await harness.sweep();
    const state = await harness.store.contactState(ACCOUNT, contactId);
    if (state === undefined) throw new Error('the contact is unknown');
    harness.control('contacts/delete', { contactId });
    await list.poll(ACCOUNT);
    harness.store.aheadMs += 62_000;
    await list.poll(ACCOUNT);
    expect(await typesOf()).toEqual(['contact.deleted']);
    const { version, redisRun, expediteRequests, pollState, extension, now } = state;
    const committed = await harness.store.commitPoll(ACCOUNT, contactId, {
      ...{ version, redisRun, expediteRequests, pollState, extension, suspicion: now },
      ...{ deletesSnapshots: false, known: new Map(), events: [], bucket: 1, dueInMs: 1_000, unreadable: 0 },
      ...{ baseline: 'unchanged', deep: 'unchanged', numbers: [], row: NO_ROW_UPDATE },
      report: { startedAt: now, arrivals: [], interval: { min: 50, max: 60_000 } },
    });
    expect(committed).toBeDefined();
    expect(await harness.store.overview(ACCOUNT)).not.toHaveProperty('suspectSince');
  });

  it('a new contact causes contact.created, and its first messages cause message.received, although the account stays suspect', async () => {
    const { harness } = here;
    const ids = await account();
    harness.control('contacts/delete', { contactIds: ids.slice(0, 12) });
    await lists(2);
    const timestamp = Date.now() - DAY_MS / 2;
    const first = harness.createMessages(harness.createContact(NUMBER), { timestamp });
    await harness.sweep();
    expect(await typesOf()).toEqual(['account.suspect', 'contact.created', 'message.received']);
    expect(await here.messageEvents()).toEqual(received(first));
    expect(await harness.store.overview(ACCOUNT)).toHaveProperty('suspectSince');
  });

  it('a new contact in the first list that lacks many contacts causes contact.created, because one new contact does not replace the missing contacts', async () => {
    const { harness } = here;
    const ids = await account();
    harness.control('contacts/delete', { contactIds: ids.slice(0, 12) });
    const timestamp = Date.now() - DAY_MS / 2;
    const first = harness.createMessages(harness.createContact(NUMBER), { timestamp });
    await harness.sweep();
    expect(await typesOf()).toEqual(['contact.created', 'account.suspect', 'message.received']);
    expect(await here.messageEvents()).toEqual(received(first));
  });

  it.each([
    ['less than a minute', 32_000],
    ['more than a minute', MIN_ABSENCE_UNTIL_DELETED_MS + 2_000],
  ])(
    'contacts and messages that are still missing when most have returned are reported as deleted only after another minute (time between two reads: %s)',
    async (_, betweenMs) => {
      const { harness } = here;
      const ids = await account();
      const [first = ''] = ids.slice(-1);
      const messages = [...(await harness.store.allKnownMessages(ACCOUNT, first)).keys()];
      const readAll = async (): Promise<void> => {
        harness.store.aheadMs += betweenMs;
        await harness.list.poll(ACCOUNT);
        await here.readAll(first);
      };
      harness.control('contacts/delete', { contactIds: ids.slice(0, 12) });
      harness.control('messages/delete', { ids: messages.slice(0, 20) });
      await readAll();
      harness.control('contacts/restore', { contactIds: ids.slice(0, 10) });
      harness.control('messages/restore', { ids: messages.slice(0, 16) });
      await readAll();
      // A minute has passed since they went missing, but not since the suspicion ended.
      if (betweenMs < MIN_ABSENCE_UNTIL_DELETED_MS) await readAll();
      const isDeletion = (type: string): boolean => type.endsWith('.deleted');
      expect((await typesOf()).filter(isDeletion)).toEqual([]);
      harness.control('contacts/restore', { contactIds: ids.slice(0, 11) });
      harness.control('messages/restore', { ids: messages.slice(0, 19) });
      for (let reads = 0; reads < 5; reads += 1) await readAll();
      expect((await typesOf()).filter(isDeletion).sort()).toEqual(['contact.deleted', 'message.deleted']);
    },
  );

  it('contact.deleted is emitted after an administrator confirmed that the contacts were deleted', async () => {
    const { harness } = here;
    const ids = await account();
    harness.control('contacts/delete', { contactIds: ids.slice(0, 12) });
    await lists(3);
    expect(await typesOf()).toEqual(['account.suspect']);
    expect(await harness.store.overview(ACCOUNT)).toHaveProperty('suspectSince');
    await harness.store.confirmDeletions(ACCOUNT);
    expect(await harness.store.overview(ACCOUNT)).not.toHaveProperty('suspectSince');
    await lists(1);
    expect((await typesOf()).filter((type) => type === 'contact.deleted')).toHaveLength(12);
  });
});

describe('a confirmation of deletions', () => {
  let contacts: string[];
  let contactId: string;
  let messages: string[];

  /** Creates an account of 46 contacts, of which one has 45 messages and the others have none. */
  beforeEach(async () => {
    const { harness } = here;
    harness.control('contacts', { count: 45 });
    ({ contactId, ids: messages } = await here.createKnownContact(45));
    const known = [...(await harness.store.contactListSnapshot(ACCOUNT)).contacts.keys()];
    contacts = known.filter((id) => id !== contactId);
  });

  function change(verb: 'delete' | 'restore', from: number, to: number): void {
    here.harness.control(`contacts/${verb}`, { contactIds: contacts.slice(from, to) });
    here.harness.control(`messages/${verb}`, { ids: messages.slice(from, to) });
  }

  async function readAllAfter(ms: number): Promise<void> {
    here.harness.store.aheadMs += ms;
    await here.harness.list.poll(ACCOUNT);
    await here.readAll(contactId);
  }

  async function deletions(): Promise<{ contacts: number; messages: number }> {
    const types = await typesOf();
    return {
      contacts: types.filter((type) => type === 'contact.deleted').length,
      messages: types.filter((type) => type === 'message.deleted').length,
    };
  }

  it('applies to all missing contacts and messages, even if they have been missing for less than a minute', async () => {
    change('delete', 0, 30);
    await readAllAfter(0);
    await here.harness.store.confirmDeletions(ACCOUNT);
    await readAllAfter(30_000);
    expect(await typesOf()).toEqual(['account.suspect']);
    await readAllAfter(32_000);
    expect(await deletions()).toEqual({ contacts: 30, messages: 30 });
  });

  it('removes a contact from the contacts with suspect messages, and later polls do not add it again', async () => {
    const { harness } = here;
    const suspects = accountKeys(harness.prefix, ACCOUNT)('suspects');
    change('delete', 0, 30);
    await readAllAfter(0);
    expect(await harness.redis.hkeys(suspects)).toEqual([contactId]);
    await harness.store.confirmDeletions(ACCOUNT);
    expect(await harness.redis.hkeys(suspects)).toEqual([]);
    // A poll of the newest messages does not end the suspicion.
    await harness.polls.poll(ACCOUNT, contactId);
    expect(await harness.redis.hkeys(suspects)).toEqual([]);
  });

  it('does not apply to contacts and messages that vanish later', async () => {
    const { store } = here.harness;
    change('delete', 0, 15);
    await readAllAfter(0);
    await store.confirmDeletions(ACCOUNT);
    expect(await store.overview(ACCOUNT)).not.toHaveProperty('suspectSince');
    change('delete', 15, 30);
    await readAllAfter(30_000);
    await readAllAfter(62_000);
    expect(await typesOf()).toEqual(['account.suspect']);
    expect(await store.overview(ACCOUNT)).toHaveProperty('suspectSince');
    change('restore', 15, 30);
    await readAllAfter(0);
    expect(await deletions()).toEqual({ contacts: 15, messages: 15 });
  });
});
