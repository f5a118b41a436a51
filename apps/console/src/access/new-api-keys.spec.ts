import { expect, it } from '@jest/globals';
import type { CreatedApiKey } from '#client';
import { NewApiKeys } from './new-api-keys.js';

const created = (id: string): CreatedApiKey => ({
  id,
  account: 'default',
  name: id,
  scopes: [],
  createdAt: '2026-01-01T00:00:00.000Z',
  lastUsedAt: null,
  expiresAt: null,
  key: `secret of ${id}`,
});

it('a new API key is kept for the sign-in that created it, until the user confirms that the key is stored', () => {
  const keys = new NewApiKeys();
  for (const id of ['first', 'second']) keys.add('key_1', created(id));
  expect(keys.of('key_1')).toEqual([created('first'), created('second')]);
  expect(keys.of('key_2')).toEqual([]);
  keys.remove('key_1', 'first');
  expect(keys.of('key_1')).toEqual([created('second')]);
});

it('a sign-out removes only the new API keys of the sign-in that ends', () => {
  const keys = new NewApiKeys();
  for (const signInId of ['key_1', 'key_2']) keys.add(signInId, created('first'));
  keys.forget('key_1');
  expect(keys.of('key_1')).toEqual([]);
  expect(keys.of('key_2')).toEqual([created('first')]);
});
