import { describe, expect, it } from '@jest/globals';
import type { Principal } from '#accounts';
import { ContactAccess, type NumberOwners } from './contact-access.js';

const NUMBER = '+14155550111';

/** The owner of the number in each account. */
const OWNERS: Readonly<Record<string, string>> = { a: '1', b: '2' };
const feed: NumberOwners = {
  recipientOf: (account) => Promise.resolve({ contacts: [{ id: OWNERS[account] ?? '' }] }) as never,
};

/** Returns a caller with a token that is restricted to the contact `1`. */
const callerOf = (account: string): Principal => ({
  ...{ keyId: 'k', account, scopes: new Set(), contactIds: new Set(['1']) },
});

describe('a token that is restricted to a contact', () => {
  it('gives no access to a phone number that belongs to a contact with the same id in another account', async () => {
    const access = new ContactAccess(feed);
    expect(await access.maySeeNumber(callerOf('a'), NUMBER)).toBe(true);
    expect(await access.maySeeNumber(callerOf('b'), NUMBER)).toBe(false);
  });
});
