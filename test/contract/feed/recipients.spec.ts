import { describe, expect, it } from '@jest/globals';
import { accountKeys } from '#platform';
import { A } from './house.js';
import { NUMBER, WithHouse } from './with-house.js';

const here = new WithHouse();

const holders = async (number = NUMBER): Promise<string[]> =>
  (await here.house.store.recipientOf(A, number)).contacts.map(({ id }) => id);

describe('the contacts of a number', () => {
  it('are all that hold it, those first whose messages showed it last', async () => {
    const { house } = here;
    const named = house.contact('+15550000001', { referredBy: NUMBER });
    await house.sweep();
    expect(await holders()).toEqual([named]);
    const own = house.contact(NUMBER);
    house.messages(own);
    await house.sweep();
    expect(await holders()).toEqual([own, named]);
    const third = house.contact('+15550000002', { assistant: NUMBER });
    await house.sweep();
    expect(await holders()).toEqual([own, named, third]);
    // Nobody moves for what is known already.
    house.control('contacts/edit', { contactId: named, name: 'Renamed' });
    await house.sweep();
    expect(await holders()).toEqual([own, named, third]);
  });

  it('are no more than twenty, of which the one with the messages is never one too many', async () => {
    const { house } = here;
    const named = Array.from({ length: 25 }, (_, n) =>
      house.contact(`+1555000${String(1_000 + n)}`, { switchboard: NUMBER }),
    );
    await house.sweep();
    expect(await holders()).toEqual(named.slice(0, 20));
    const own = house.contact(NUMBER);
    house.messages(own);
    await house.sweep();
    expect(await holders()).toEqual([own, ...named.slice(0, 19)]);
  });

  it('leave out those that were deleted, and say which the last list did not show', async () => {
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
    expect(await holders()).not.toContain(own);
    expect(await holders()).toHaveLength(1);
  });

  it('are the one that an earlier build noted, and those that were noted beside it', async () => {
    const { house } = here;
    const [one, two] = [house.contact('+15550000001'), house.contact('+15550000002')];
    await house.sweep();
    const numbers = accountKeys(house.prefix, A)('numbers');
    await house.redis.hset(numbers, NUMBER, one);
    expect(await holders()).toEqual([one]);
    house.control('contacts/edit', { contactId: two, fields: { formerly: NUMBER } });
    await house.sweep();
    expect(await holders()).toEqual([one, two]);
    // An earlier build that runs beside this one knows of one only.
    await house.redis.hset(numbers, NUMBER, two);
    expect(await holders()).toEqual([two]);
  });

  it('say when the reading of the last list began', async () => {
    const { house } = here;
    expect((await house.store.recipientOf(A, NUMBER)).listReadAt).toBeUndefined();
    const { now } = await house.store.knownContacts(A);
    await house.list.poll(A);
    expect((await house.store.recipientOf(A, NUMBER)).listReadAt).toBeGreaterThanOrEqual(now);
  });
});
