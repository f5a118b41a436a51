import { expect, it } from '@jest/globals';
import type { Account } from '#client';
import { changesBetween, draftOf, faultsOf } from './account-draft.js';

const ACCOUNT = {
  id: 'sales',
  baseUrl: 'https://messages.example.com/v1',
  requestsPerSecond: 10,
  polling: true,
} as Account;

it('a change of an account contains only the settings that the user changed', () => {
  const before = draftOf(ACCOUNT);
  expect(changesBetween(before, before)).toEqual({});
  expect(changesBetween(before, { ...before, polling: false })).toEqual({ polling: false });
  expect(changesBetween(before, { ...before, requestsPerSecond: '2.5', apiKey: 'new' })).toEqual({
    requestsPerSecond: 2.5,
    apiKey: 'new',
  });
});

it('an empty number of requests per second is a fault in an existing account, and means the default in a new account', () => {
  const before = draftOf(ACCOUNT);
  expect(faultsOf(before, { ...before, requestsPerSecond: '' })).toEqual({
    requestsPerSecond: 'Enter a number.',
  });
  const empty = draftOf();
  const filled = { ...empty, baseUrl: ACCOUNT.baseUrl, apiKey: 'new' };
  expect(faultsOf(empty, filled)).toBeUndefined();
  expect(changesBetween(empty, filled)).toEqual({ baseUrl: ACCOUNT.baseUrl, apiKey: 'new' });
});
