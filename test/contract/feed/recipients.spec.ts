import { describe, expect, it } from '@jest/globals';
import { accountKeys } from '#platform';
import { ACCOUNT } from './feed-harness.js';
import { NUMBER, WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();

const ownersOf = async (number = NUMBER): Promise<string[]> =>
  (await here.harness.store.recipientOf(ACCOUNT, number)).contacts.map(({ id }) => id);

describe('the contacts of a phone number', () => {
  it('are sorted: first the contact with messages from or to the number, then the other contacts in the order in which they were found', async () => {
    const { harness } = here;
    const named = harness.createContact('+15550000001', { referredBy: NUMBER });
    await harness.sweep();
    expect(await ownersOf()).toEqual([named]);
    const own = harness.createContact(NUMBER);
    harness.createMessages(own);
    await harness.sweep();
    expect(await ownersOf()).toEqual([own, named]);
    const third = harness.createContact('+15550000002', { assistant: NUMBER });
    await harness.sweep();
    expect(await ownersOf()).toEqual([own, named, third]);
    // A change that leaves the numbers the same does not change the order.
    harness.control('contacts/edit', { contactId: named, name: 'Renamed' });
    await harness.sweep();
    expect(await ownersOf()).toEqual([own, named, third]);
  });

  it('are limited to twenty stored contacts; a contact with messages from or to the number takes precedence', async () => {
    const { harness } = here;
    const named = Array.from({ length: 25 }, (_, n) =>
      harness.createContact(`+1555000${String(1_000 + n)}`, { switchboard: NUMBER }),
    );
    await harness.sweep();
    expect(await ownersOf()).toEqual(named.slice(0, 20));
    const own = harness.createContact(NUMBER);
    harness.createMessages(own);
    await harness.sweep();
    expect(await ownersOf()).toEqual([own, ...named.slice(0, 19)]);
  });

  it('do not include deleted contacts, and are marked if they are missing from the last contact list', async () => {
    const { harness } = here;
    const own = harness.createContact(NUMBER);
    harness.createContact('+15550000001', { referredBy: NUMBER });
    await harness.sweep();
    harness.control('contacts/delete', { contactId: own });
    await harness.list.poll(ACCOUNT);
    const { contacts } = await harness.store.recipientOf(ACCOUNT, NUMBER);
    expect(contacts.find(({ id }) => id === own)).toEqual({ id: own, isMissing: true });
    harness.store.aheadMs = 3_600_000;
    await harness.list.poll(ACCOUNT);
    expect(await ownersOf()).not.toContain(own);
    expect(await ownersOf()).toHaveLength(1);
  });

  it('are polled earlier on request: the most likely contact becomes due or, if the number has no contact, a read of the contact list is requested', async () => {
    const { harness } = here;
    const own = harness.createContact(NUMBER);
    const second = harness.createContact('+15550000001', { referredBy: NUMBER });
    await harness.sweep();
    const due = accountKeys(harness.prefix, ACCOUNT)('polls', 'due');
    const isSoon = async (id: string): Promise<boolean> =>
      Number(await harness.redis.zscore(due, id)) < Date.now() + 500;
    const later = async (): Promise<void> => {
      for (const id of [own, second]) await harness.redis.zadd(due, 'XX', Date.now() + 60_000, id);
    };
    await later();
    expect(await harness.store.expeditePollsOfRecipients(ACCOUNT, [NUMBER], 250)).toEqual({
      hasContacts: true,
      requestsList: false,
    });
    expect([await isSoon(own), await isSoon(second)]).toEqual([true, false]);
    harness.control('contacts/delete', { contactId: own });
    await harness.list.poll(ACCOUNT);
    harness.store.aheadMs = 3_600_000;
    await harness.list.poll(ACCOUNT);
    expect(await ownersOf()).toEqual([second]);
    harness.store.aheadMs = 0;
    await later();
    expect(await harness.store.expeditePollsOfRecipients(ACCOUNT, [NUMBER, '+15559999999'], 250)).toEqual({
      hasContacts: true,
      requestsList: true,
    });
    expect(await isSoon(second)).toBe(true);
    expect(await harness.store.consumeContactListPollRequest(ACCOUNT)).toBe(true);
  });

  it('include the contact that an earlier build stored, and contacts that were added later', async () => {
    const { harness } = here;
    const [one, two] = [harness.createContact('+15550000001'), harness.createContact('+15550000002')];
    await harness.sweep();
    const numbers = accountKeys(harness.prefix, ACCOUNT)('numbers');
    await harness.redis.hset(numbers, NUMBER, one);
    expect(await ownersOf()).toEqual([one]);
    harness.control('contacts/edit', { contactId: two, fields: { formerly: NUMBER } });
    await harness.sweep();
    expect(await ownersOf()).toEqual([one, two]);
    // An earlier build that still runs stores one contact only.
    await harness.redis.hset(numbers, NUMBER, two);
    expect(await ownersOf()).toEqual([two]);
  });

  it('are returned with the start time of the last read of the contact list', async () => {
    const { harness } = here;
    expect((await harness.store.recipientOf(ACCOUNT, NUMBER)).listReadAt).toBeUndefined();
    const { now } = await harness.store.contactListSnapshot(ACCOUNT);
    await harness.list.poll(ACCOUNT);
    expect((await harness.store.recipientOf(ACCOUNT, NUMBER)).listReadAt).toBeGreaterThanOrEqual(now);
  });
});
