import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { FixedAccountDirectory } from '../account/account.js';
import { InMemoryApiKeyAuthenticator } from './api-key.js';

describe('an API key', () => {
  it('authenticates a caller for one account with the scopes of the key; any other text is rejected', async () => {
    const keys = new InMemoryApiKeyAuthenticator([
      { id: 'one', key: 'first', account: 'default', scopes: ['admin', 'events:read'] },
      { id: 'two', key: 'second', account: 'other', scopes: [] },
    ]);
    const principal = await keys.authenticate('first');
    expect(principal).toMatchObject({ keyId: 'one', account: 'default' });
    expect([...(principal?.scopes ?? [])]).toEqual(['admin', 'events:read']);
    expect((await keys.authenticate('second'))?.scopes.size).toBe(0);
    for (const key of ['', 'First', 'first ', 'constructor'])
      expect(await keys.authenticate(key)).toBeUndefined();
  });

  it('is kept in memory only as a hash', () => {
    const keys = new InMemoryApiKeyAuthenticator([{ id: 'one', key: 'first', account: 'a', scopes: [] }]);
    const inside = inspect(keys, { depth: null, showHidden: true });
    expect(inside).toContain('account');
    expect(inside).not.toContain('first');
  });
});

describe('accounts that do not change while the process runs', () => {
  it('can be listed and found by id; an unknown id finds no account', async () => {
    const account = { id: 'a', baseUrl: 'http://u/v1', apiKey: 'k', requestsPerSecond: 1, polling: true };
    const accounts = new FixedAccountDirectory([account]);
    expect(await accounts.list()).toEqual([account]);
    expect(await accounts.find('a')).toEqual(account);
    expect(await accounts.find('constructor')).toBeUndefined();
  });
});
