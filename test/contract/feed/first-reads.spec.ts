import { describe, expect, it } from '@jest/globals';
import { MIN_ABSENCE_UNTIL_DELETED_MS, ContactListPoller } from '#feed';
import { ACCOUNT } from './feed-harness.js';
import { DAY_MS, NUMBER, received, WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();

/** Polls contacts in batches, as a worker does. */
async function pollAll(contactIds: readonly string[]): Promise<void> {
  for (let at = 0; at < contactIds.length; at += 16) {
    await Promise.all(contactIds.slice(at, at + 16).map((id) => here.harness.polls.poll(ACCOUNT, id)));
  }
}

describe('the first read of the messages of a contact', () => {
  it('emits no event for 500 old messages', async () => {
    const contactId = here.harness.createContact(NUMBER);
    here.createOldMessages(contactId, 500);
    await here.harness.sweep();
    expect(await here.harness.eventTypes()).toEqual([]);
    expect((await here.harness.store.contactState(ACCOUNT, contactId))?.storedMessages).toBe(500);
  });

  it('causes events only for messages that arrive while the first reads of 1,000 contacts are in progress', async () => {
    const { harness } = here;
    harness.control('contacts', { count: 1_000 });
    await harness.list.poll(ACCOUNT);
    const due = await harness.takeDue();
    expect(due).toHaveLength(1_000);
    for (const id of due) here.createOldMessages(id, 2);
    await pollAll(due.slice(0, 500));
    const replies = [due[0], due[700], due[999]].flatMap((contactId = '') =>
      harness.createMessages(contactId),
    );
    await pollAll(due.slice(500));
    await harness.polls.poll(ACCOUNT, due[0] ?? '');
    expect(await here.messageEvents()).toEqual(received(replies));
  });

  it.each([
    ['since the account was added, even if the first contact list is read five minutes later', 300_000, 1],
    ['in the last day if the account was added 900 days ago', 900 * DAY_MS, 2],
  ])('emits events only for recent messages: those that arrived %s', async (_, addedAgoMs, expectedCount) => {
    const { harness } = here;
    const contactId = harness.createContact(NUMBER);
    harness.createMessages(contactId, { timestamp: Date.now() - 2 * DAY_MS });
    const [yesterday = ''] = harness.createMessages(contactId, { timestamp: Date.now() - DAY_MS / 2 });
    const [since = ''] = harness.createMessages(contactId, { timestamp: Date.now() - 200_000 });
    const addedAt = (): Promise<number> => Promise.resolve(Date.now() - addedAgoMs);
    await new ContactListPoller(harness.store, harness.source, MIN_ABSENCE_UNTIL_DELETED_MS, addedAt).poll(
      ACCOUNT,
    );
    await harness.sweep();
    expect(await here.messageEvents()).toEqual(received([since, yesterday].slice(0, expectedCount)));
  });

  it('emits no event for an old message after the stored contact list was lost', async () => {
    const { harness } = here;
    const contactId = harness.createContact(NUMBER);
    await harness.sweep();
    await harness.redis.del(`${harness.prefix}:{${ACCOUNT}}:contacts`);
    await harness.redis.del(`${harness.prefix}:{${ACCOUNT}}:contact:${contactId}`);
    harness.createMessages(harness.createContact('+15551234568'), { timestamp: Date.now() - 200_000 });
    const addedAt = (): Promise<number> => Promise.resolve(Date.now() - 300_000);
    await new ContactListPoller(harness.store, harness.source, MIN_ABSENCE_UNTIL_DELETED_MS, addedAt).poll(
      ACCOUNT,
    );
    await harness.sweep();
    expect(await here.messageEvents()).toEqual([]);
  });

  it('emits message events only for the messages of the last day if a new contact has messages of several years', async () => {
    const { harness } = here;
    await harness.sweep();
    const contactId = harness.createContact(NUMBER);
    const years = { count: 60, timestamp: Date.now() - 900 * DAY_MS, intervalMs: DAY_MS };
    harness.createMessages(contactId, years);
    const [fresh] = harness.createMessages(contactId, { text: 'fresh', timestamp: Date.now() - DAY_MS / 2 });
    await harness.sweep();
    await harness.sweep();
    expect(await harness.eventTypes()).toEqual(['contact.created', 'message.received']);
    expect(await here.messageEvents()).toEqual(received([fresh ?? '']));
  });

  it('emits contact.created for a new contact, and then one event for each message of the contact', async () => {
    const { harness } = here;
    await harness.sweep();
    const ids = harness.createMessages(harness.createContact(NUMBER), { count: 2 });
    await harness.sweep();
    await harness.sweep();
    expect((await harness.eventTypes())[0]).toBe('contact.created');
    expect(await here.messageEvents()).toEqual(received(ids));
  });

  it.each([-600_000, 600_000])(
    'judges the age of messages by upstream’s clock, even if that clock is %d ms off',
    async (clockSkewMs) => {
      const { harness } = here;
      harness.control('settings', { clockSkewMs });
      const upstreamNow = Date.now() + clockSkewMs;
      const contactId = harness.createContact(NUMBER);
      harness.createMessages(contactId, { text: 'old', timestamp: upstreamNow - 120_000 });
      const [recent] = harness.createMessages(contactId, { text: 'recent', timestamp: upstreamNow - 30_000 });
      await harness.sweep();
      const [fresh] = harness.createMessages(contactId, { text: 'fresh' });
      await harness.sweep();
      expect(await here.messageEvents()).toEqual(received([recent ?? '', fresh ?? '']));
    },
  );

  it.each([-600_000, 600_000])(
    'judges the age of messages correctly, even if Redis’ clock is %d ms off',
    async (aheadMs) => {
      const { harness } = here;
      harness.store.aheadMs = aheadMs;
      const contactId = harness.createContact(NUMBER);
      harness.createMessages(contactId, { text: 'old', timestamp: Date.now() - 120_000 });
      const [recent] = harness.createMessages(contactId, { text: 'recent', timestamp: Date.now() - 30_000 });
      await harness.sweep();
      harness.store.aheadMs = -aheadMs;
      const [fresh] = harness.createMessages(contactId, { text: 'fresh' });
      await harness.sweep();
      expect(await here.messageEvents()).toEqual(received([recent ?? '', fresh ?? '']));
    },
  );

  it('emits no event for an old message after Redis was emptied', async () => {
    const { harness } = here;
    harness.control('contacts', { count: 30 });
    await harness.list.poll(ACCOUNT);
    const ids = [...(await harness.store.contactListSnapshot(ACCOUNT)).contacts.keys()];
    for (const id of ids) here.createOldMessages(id, 12);
    await harness.sweep();
    await harness.redis.flushall();
    await harness.sweep();
    await harness.sweep();
    expect(await harness.eventTypes()).toEqual([]);
    const [fresh] = harness.createMessages(ids[0] ?? '');
    await harness.sweep();
    expect(await here.messageEvents()).toEqual(received([fresh ?? '']));
  });
});
