import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { PollExpediter } from './poll-expediter.js';

let written: [account: string, phoneNumbers: readonly string[], ms: number][];
let isAway: boolean;
let expediter: PollExpediter;

beforeEach(() => {
  jest.useFakeTimers();
  written = [];
  isAway = false;
  const store = {
    expeditePollsOfRecipients: (account: string, phoneNumbers: readonly string[], ms: number) => {
      if (isAway) return Promise.reject(new Error('Redis is away'));
      written.push([account, phoneNumbers, ms]);
      return Promise.resolve({ hasContacts: true, requestsList: false });
    },
  };
  expediter = new PollExpediter(store, 250);
});

afterEach(() => {
  jest.useRealTimers();
});

it('poll requests for one account within 10 ms share one write, which contains each phone number once', async () => {
  const all = Promise.all([
    expediter.expedite('a', '+1'),
    expediter.expedite('a', '+2'),
    expediter.expedite('b', '+1'),
    expediter.expedite('a', '+1'),
  ]);
  await jest.advanceTimersByTimeAsync(10);
  await all;
  expect(written).toEqual([
    ['a', ['+1', '+2'], 250],
    ['b', ['+1'], 250],
  ]);
});

it('poll requests for more than 200 phone numbers of an account are split into several writes', async () => {
  const all = Array.from({ length: 250 }, (_, n) => expediter.expedite('a', `+${n}`));
  expect(written.map(([, numbers]) => numbers.length)).toEqual([200]);
  await jest.advanceTimersByTimeAsync(10);
  await Promise.all(all);
  expect(written.map(([, numbers]) => numbers.length)).toEqual([200, 50]);
});

it('if writing a batch of poll requests fails, these requests are rejected, and later ones are still written', async () => {
  isAway = true;
  const lost = expediter.expedite('a', '+1');
  const rejected = expect(lost).rejects.toThrow('Redis is away');
  await jest.advanceTimersByTimeAsync(10);
  await rejected;
  isAway = false;
  const found = expediter.expedite('a', '+2');
  await jest.advanceTimersByTimeAsync(10);
  await found;
  expect(written).toEqual([['a', ['+2'], 250]]);
});
