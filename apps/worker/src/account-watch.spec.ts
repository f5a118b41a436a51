import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Account } from '#accounts';
import { createLogger } from '#platform';
import { eventually } from '../../../test/support/eventually.js';
import { AccountWatch } from './account-watch.js';

let accounts: string[] | Error;
let stamp: string;
let looks: number;
let reads: number;
let told: string[];
let changes: Partial<Account>;
let watch: AccountWatch;

const FOLLOWER = {
  came: (id: string, isNew: boolean): void => void told.push(`${id} ${isNew ? 'came' : 'is there'}`),
  changed: (id: string): void => void told.push(`${id} changed`),
  went: (id: string): void => void told.push(`${id} went`),
};

beforeEach(() => {
  [accounts, stamp, looks, reads, told] = [['default', 'a'], '', 0, 0, []];
  const directory = {
    list: (): Promise<Account[]> => {
      reads += 1;
      if (accounts instanceof Error) return Promise.reject(accounts);
      return Promise.resolve(accounts.map((id) => ({ id, ...changes }) as Account));
    },
    stamp: (): Promise<string> => {
      looks += 1;
      return accounts instanceof Error ? Promise.reject(accounts) : Promise.resolve(stamp);
    },
  };
  changes = {};
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
  [accounts, stamp] = [['default', 'b'], '1'];
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

it('tells of an account that is polled from now on, or otherwise changed', async () => {
  await afterTwoLooks();
  [changes, stamp] = [{ polling: true }, '1'];
  await afterTwoLooks();
  expect(told.slice(2)).toEqual(['default changed', 'a changed']);
});

it('does not read the accounts while none of them changed, and once a minute nonetheless', async () => {
  await eventually('many looks', () => looks > 20);
  expect(reads).toBe(1);
  // What an earlier build changed does not show otherwise.
  accounts = ['default', 'c'];
  await eventually('it was noticed', () => told.includes('c came'));
  expect(reads).toBe(2);
});
