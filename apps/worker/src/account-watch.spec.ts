import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Account } from '#accounts';
import { createLogger } from '#platform';
import { eventually } from '../../../test/support/eventually.js';
import { AccountWatch } from './account-watch.js';

let accounts: string[] | Error;
let looks: number;
let told: string[];
let watch: AccountWatch;

const FOLLOWER = {
  came: (id: string, isNew: boolean): void => void told.push(`${id} ${isNew ? 'came' : 'is there'}`),
  went: (id: string): void => void told.push(`${id} went`),
};

beforeEach(() => {
  [accounts, looks, told] = [['default', 'a'], 0, []];
  const directory = {
    list: (): Promise<Account[]> => {
      looks += 1;
      if (accounts instanceof Error) return Promise.reject(accounts);
      return Promise.resolve(accounts.map((id) => ({ id }) as Account));
    },
  };
  watch = new AccountWatch(directory, createLogger('test', 'silent'), 5);
  watch.follow(FOLLOWER);
  watch.start();
});

afterEach(async () => {
  await watch.stop();
});

async function afterTwoLooks(): Promise<void> {
  const before = looks;
  await eventually('two looks', () => looks >= before + 2);
}

it('tells of the accounts that are there, and of each that comes or goes, once', async () => {
  await afterTwoLooks();
  expect(told).toEqual(['default is there', 'a is there']);
  accounts = ['default', 'b'];
  await afterTwoLooks();
  expect(told.slice(2)).toEqual(['a went', 'b came']);
});

it('takes no account for gone because the accounts cannot be read', async () => {
  await afterTwoLooks();
  accounts = new Error('away');
  await afterTwoLooks();
  accounts = ['default', 'a'];
  await afterTwoLooks();
  expect(told).toEqual(['default is there', 'a is there']);
});

it('tells one who comes later of what is known already', async () => {
  await afterTwoLooks();
  const later: string[] = [];
  watch.follow({ came: (id) => void later.push(id) });
  expect(later).toEqual(['default', 'a']);
});
