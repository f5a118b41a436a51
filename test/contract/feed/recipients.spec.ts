import { describe, expect, it } from '@jest/globals';
import { accountKeys } from '#platform';
import { A } from './house.js';
import { NUMBER, WithHouse } from './with-house.js';

const here = new WithHouse();

const ownersOf = async (number = NUMBER): Promise<string[]> =>
  (await here.house.store.recipientOf(A, number)).contacts.map(({ id }) => id);

describe('the contacts that own a number', () => {
  it('are sorted by the last message that showed the number', async () => {
    const { house } = here;
    const named = house.contact('+15550000001', { referredBy: NUMBER });
    await house.sweep();
    expect(await ownersOf()).toEqual([named]);
    const own = house.contact(NUMBER);
    house.messages(own);
    await house.sweep();
    expect(await ownersOf()).toEqual([own, named]);
    const third = house.contact('+15550000002', { assistant: NUMBER });
    await house.sweep();
    expect(await ownersOf()).toEqual([own, named, third]);
    // A change that leaves the numbers the same does not change the order.
    house.control('contacts/edit', { contactId: named, name: 'Renamed' });
    await house.sweep();
    expect(await ownersOf()).toEqual([own, named, third]);
  });

  it('are at most twenty, and include the contact whose messages show the number', async () => {
    const { house } = here;
    const named = Array.from({ length: 25 }, (_, n) =>
      house.contact(`+1555000${String(1_000 + n)}`, { switchboard: NUMBER }),
    );
    await house.sweep();
    expect(await ownersOf()).toEqual(named.slice(0, 20));
    const own = house.contact(NUMBER);
    house.messages(own);
    await house.sweep();
    expect(await ownersOf()).toEqual([own, ...named.slice(0, 19)]);
  });

  it('do not include deleted contacts, and mark contacts missing from the last list', async () => {
    const { house } = here;
    const own = house.contact(NUMBER);
    house.contact('+15550000001', { referredBy: NUMBER });
    await house.sweep();
    house.control('contacts/delete', { contactId: own });
    await house.list.poll(A);
    const { contacts } = await house.store.recipientOf(A, NUMBER);
    expect(contacts.find(({ id }) => id === own)).toEqual({ id: own, isMissing: true });
    house.store.aheadMs = 3_600_000;
    await house.list.poll(A);
    expect(await ownersOf()).not.toContain(own);
    expect(await ownersOf()).toHaveLength(1);
  });

  it('include the contact that an earlier build stored, and contacts that were added later', async () => {
    const { house } = here;
    const [one, two] = [house.contact('+15550000001'), house.contact('+15550000002')];
    await house.sweep();
    const numbers = accountKeys(house.prefix, A)('numbers');
    await house.redis.hset(numbers, NUMBER, one);
    expect(await ownersOf()).toEqual([one]);
    house.control('contacts/edit', { contactId: two, fields: { formerly: NUMBER } });
    await house.sweep();
    expect(await ownersOf()).toEqual([one, two]);
    // An earlier build that still runs stores one contact only.
    await house.redis.hset(numbers, NUMBER, two);
    expect(await ownersOf()).toEqual([two]);
  });

  it('come with the start time of the last list read', async () => {
    const { house } = here;
    expect((await house.store.recipientOf(A, NUMBER)).listReadAt).toBeUndefined();
    const { now } = await house.store.knownContacts(A);
    await house.list.poll(A);
    expect((await house.store.recipientOf(A, NUMBER)).listReadAt).toBeGreaterThanOrEqual(now);
  });
});
