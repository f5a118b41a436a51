import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Account } from '#accounts';
import { createLogger } from '#platform';
import { eventually } from '../../../test/support/eventually.js';
import { AccountWatch } from './account-watch.js';

let accounts: string[] | Error;
let revision: string;
let revisionReads: number;
let listReads: number;
let notifications: string[];
let accountFields: Partial<Account>;
let watch: AccountWatch;

const FOLLOWER = {
  added: (id: string, isNew: boolean): void => void notifications.push(`${id} ${isNew ? 'added' : 'exists'}`),
  changed: (id: string): void => void notifications.push(`${id} changed`),
  removed: (id: string): void => void notifications.push(`${id} removed`),
};

beforeEach(() => {
  [accounts, revision, revisionReads, listReads, notifications] = [['default', 'a'], '', 0, 0, []];
  const directory = {
    list: (): Promise<Account[]> => {
      listReads += 1;
      if (accounts instanceof Error) return Promise.reject(accounts);
      return Promise.resolve(accounts.map((id) => ({ id, ...accountFields }) as Account));
    },
    revision: (): Promise<string> => {
      revisionReads += 1;
      return accounts instanceof Error ? Promise.reject(accounts) : Promise.resolve(revision);
    },
  };
  accountFields = {};
  watch = new AccountWatch(directory, createLogger('test', 'silent'), 5);
  watch.follow(FOLLOWER);
  watch.start();
});

afterEach(async () => {
  await watch.stop();
});

async function untilTwoStampReads(): Promise<void> {
  const before = revisionReads;
  await eventually('the revision was read twice', () => revisionReads >= before + 2);
}

it('the watch for account changes reports each existing account once, then each added and each removed account once', async () => {
  await untilTwoStampReads();
  expect(notifications).toEqual(['default exists', 'a exists']);
  [accounts, revision] = [['default', 'b'], '1'];
  await untilTwoStampReads();
  expect(notifications.slice(2)).toEqual(['a removed', 'b added']);
});

it('the watch for account changes does not report accounts as removed when the account list cannot be read', async () => {
  await untilTwoStampReads();
  accounts = new Error('away');
  await untilTwoStampReads();
  accounts = ['default', 'a'];
  await untilTwoStampReads();
  expect(notifications).toEqual(['default exists', 'a exists']);
});

it('the watch for account changes reports to each new listener all accounts that the watch already knows', async () => {
  await untilTwoStampReads();
  const later: string[] = [];
  watch.follow({ added: (id) => void later.push(id) });
  expect(later).toEqual(['default', 'a']);
});

it('the watch for account changes reports an account as changed when its settings change', async () => {
  await untilTwoStampReads();
  [accountFields, revision] = [{ polling: true }, '1'];
  await untilTwoStampReads();
  expect(notifications.slice(2)).toEqual(['default changed', 'a changed']);
});

it('the watch for account changes reads the account list only if its revision number has changed, and at every 60th check', async () => {
  await eventually('the revision was read many times', () => revisionReads > 20);
  expect(listReads).toBe(1);
  // The revision does not show changes that an earlier build made.
  accounts = ['default', 'c'];
  await eventually('the new account was reported', () => notifications.includes('c added'));
  expect(listReads).toBe(2);
});
